//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if linux && gnu {
        // Addresses known when linking need not be written into 200 pages at every start, which
        // costs more memory and time than a small history does.
        println!("cargo::rustc-link-arg-bin=isolde=-no-pie");
    }
}
