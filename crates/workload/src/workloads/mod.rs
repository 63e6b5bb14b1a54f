//! The workloads, one file each.
