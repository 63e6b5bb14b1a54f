//! One file a command.

pub mod certify;
pub mod check;
pub mod collect;
pub mod convert;
mod elle_calls;
pub mod elle_cli;
pub mod elle_models;
pub mod explain;
pub mod generate;
pub mod levels;
pub mod model;
pub mod program;
pub mod run;
pub mod serve;
pub mod shell;
