//! Every test of this crate in one binary: what takes the time is linking.
#![allow(missing_docs)]

mod encyclopedia;
mod pages;
mod pictures;
mod support;
