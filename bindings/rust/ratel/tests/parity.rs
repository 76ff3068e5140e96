//! Every function of rl.h has a counterpart here, or a reason why it has none.
#![allow(missing_docs)]

mod support;

/// What rl.h has and this crate does not call.
const LEFT_OUT: [(&str, &str); 1] = [("rl_config_clear", "a config lives for one build, reload or diff here")];

#[test]
fn every_function_is_called() {
    let header = std::fs::read_to_string(support::root().join("include/ratel/rl.h")).unwrap();
    let declared: Vec<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("RL_API ")?.split('(').next()?.rsplit([' ', '*']).next())
        .collect();
    assert!(declared.len() > 40, "{declared:?}");
    let mut code = String::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            code += &std::fs::read_to_string(path).unwrap();
        }
    }
    for name in &declared {
        let called = code.contains(&format!("sys::{name}("));
        let left_out = LEFT_OUT.iter().any(|(other, _)| other == name);
        assert_ne!(called, left_out, "{name}");
    }
    assert!(LEFT_OUT.iter().all(|(name, _)| declared.contains(name)));
}
