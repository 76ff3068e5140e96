//! Finds the engine by pkg-config, or builds it (feature `vendored`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
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

    const ON_OR_OFF: [&str; 2] = ["OFF", "ON"];

    pub fn build() {
        for part in ["CMakeLists.txt", "VERSION", "cmake", "src", "capi", "include"] {
            println!("cargo:rerun-if-changed=engine/{part}");
        }
        let mut config = cmake::Config::new("engine");
        config.profile("Release").define("CMAKE_INSTALL_LIBDIR", "lib");
        for part in ["SHARED", "TESTS", "TOOLS", "EXAMPLES", "BENCH"] {
            config.define(format!("RATEL_BUILD_{part}"), "OFF");
        }
        config.define("RATEL_REDIS", ON_OR_OFF[usize::from(cfg!(feature = "redis"))]);
        config.define("RATEL_REDIS_TLS", ON_OR_OFF[usize::from(cfg!(feature = "redis-tls"))]);
        let prefix = config.build();

        println!("cargo:rustc-link-search=native={}", prefix.join("lib").display());
        println!("cargo:rustc-link-lib=static=ratel");
        let cache = prefix.join("build/CMakeCache.txt");
        link_archive(&cache, "RATEL_YAML_ARCHIVE", "yaml");
        if cfg!(feature = "redis") {
            link_archive(&cache, "RATEL_HIREDIS_ARCHIVE", "hiredis");
        }
        if cfg!(feature = "redis-tls") {
            // Shared: other crates of the program may use OpenSSL as well, and two copies do not go together.
            println!("cargo:rustc-link-lib=dylib=ssl");
            println!("cargo:rustc-link-lib=dylib=crypto");
        }
        println!("cargo:rustc-link-lib=dylib=stdc++");
        println!("cargo:include={}", prefix.join("include").display());
        println!("cargo:root={}", prefix.display());
    }

    /// Links what the engine's own build has found.
    fn link_archive(cache: &Path, variable: &str, library: &str) {
        let text = std::fs::read_to_string(cache).unwrap_or_else(|error| panic!("{}: {error}", cache.display()));
        let archive = text.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix(":FILEPATH="));
        let archive = PathBuf::from(archive.unwrap_or_else(|| panic!("the engine's build has no {variable}")));
        println!("cargo:rustc-link-search=native={}", archive.parent().expect("a folder").display());
        println!("cargo:rustc-link-lib=static={library}");
    }
}
