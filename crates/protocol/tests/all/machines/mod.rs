//! Models that are not transaction protocols, to compare the search with that of others.
#![allow(dead_code)] // Each user takes a part.

pub mod two_phase;
