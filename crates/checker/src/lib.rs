//! Decides which levels a history satisfies.
