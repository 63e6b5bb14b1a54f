//! The command line of Isolde.

fn main() {}
