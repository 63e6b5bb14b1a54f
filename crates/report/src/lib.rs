//! Anomalies drawn and told.
//!
//! Data in, strings out: nothing here opens a file, prints or looks at a clock. Whatever a history
//! holds is cut to what matters, made visible (`escape`) and escaped for the language it is put into;
//! it is never interpreted.
//!
//! - [`Picture`]: the transactions of an anomaly and their dependencies, as text, SVG, DOT, Mermaid,
//!   LaTeX and JSON.
//! - [`Lanes`]: the same transactions by session and time, with what was done to the servers.
//! - [`Lattice`]: the levels, coloured by verdict.
//! - [`Story`]: the anomaly in plain words. [`encyclopedia`]: every kind of anomaly in plain words.
//! - [`Recording`]: what a recording tells besides its history.
//! - [`Page`]: all of it in one file.

pub mod encyclopedia;
pub mod escape;
mod lanes;
mod lattice;
pub mod page;
pub mod picture;
mod recording;
mod story;
mod words;

pub use lanes::{Fault, Lanes, Surroundings};
pub use lattice::{Answer, Lattice};
pub use page::{AnomalyView, Context, Details, Page, Reproduce, Section, Tone};
pub use picture::{Picture, Shown, TextStyle};
pub use recording::{Recording, RecordingIndex};
pub use story::Story;
