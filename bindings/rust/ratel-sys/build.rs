//! Finds the engine by pkg-config, or builds it (feature `vendored`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing
    }
    #[cfg(feature = "vendored")]
    vendored::build();
    #[cfg(not(feature = "vendored"))]
    found::link();
}

#[cfg(not(feature = "vendored"))]
mod found {
    pub fn link() {
        let version = env!("CARGO_PKG_VERSION");
        if let Err(error) = pkg_config::Config::new().atleast_version(version).probe("ratel") {
            eprintln!("{error}");
            eprintln!(
                "\nratel-sys: no libratel {version} or later. Install it and let PKG_CONFIG_PATH name the folder of ratel.pc,"
            );
            eprintln!("or build it with the crate: features = [\"vendored\"].");
            std::process::exit(1);
        }
    }
}

#[cfg(feature = "vendored")]
mod vendored {
    use std::path::{Path, PathBuf};

    const OFF: [&str; 6] = ["SHARED", "TESTS", "TOOLS", "EXAMPLES", "BENCH", "FUZZ"];

    pub fn build() {
        for folder in ["CMakeLists.txt", "VERSION", "cmake", "src", "capi", "include"] {
            println!("cargo:rerun-if-changed=engine/{folder}");
        }
        let mut config = cmake::Config::new("engine");
        config.profile("Release").define("CMAKE_INSTALL_LIBDIR", "lib");
        for what in OFF {
            let name = if what == "FUZZ" { "RATEL_FUZZ".into() } else { format!("RATEL_BUILD_{what}") };
            config.define(name, "OFF");
        }
        let prefix = config.build();
        println!("cargo:rustc-link-search=native={}", prefix.join("lib").display());
        println!("cargo:rustc-link-lib=static=ratel");
        link_yaml(&prefix.join("build/CMakeCache.txt"));
        println!("cargo:rustc-link-lib=dylib=stdc++");
        println!("cargo:include={}", prefix.join("include").display());
        println!("cargo:root={}", prefix.display());
    }

    /// The archive of libyaml that the engine's own build has found.
    fn link_yaml(cache: &Path) {
        let text = std::fs::read_to_string(cache).unwrap_or_else(|error| panic!("{}: {error}", cache.display()));
        let archive = text.lines().find_map(|line| line.strip_prefix("RATEL_YAML_ARCHIVE:FILEPATH="));
        let archive = PathBuf::from(archive.expect("the engine's build names no libyaml"));
        println!("cargo:rustc-link-search=native={}", archive.parent().expect("a folder").display());
        println!("cargo:rustc-link-lib=static=yaml");
    }
}
