//! Generates workloads and simulated histories.
