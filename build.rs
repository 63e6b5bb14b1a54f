//! Asks the linker for a program at a fixed address. At one that changes from run to run, the loader first rewrites a
//! megabyte of addresses: a quarter of the start of the program, and a part of the memory of a small check. The price is
//! that its own code lies where everybody can know; heap, stack and the system's libraries still do not.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
