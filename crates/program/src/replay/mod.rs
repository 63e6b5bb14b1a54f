//! Scenarios on real servers: PostgreSQL and MariaDB, one session an instance, in the order of the
//! schedule; and what came of it, against all serial orders and as a history.

mod blocked;
mod cells;
mod dialect;
mod error;
mod java;
mod judge;
mod level;
mod numbers;
mod played;
mod record;
mod report;
mod run;
mod schedule;
mod serial;
mod server;
mod shown;
mod tables;
mod text;
mod token;
mod upsert;
mod worker;

pub use cells::{Access, Cell};
pub use dialect::Dialect;
pub use error::ReplayError;
pub use java::{JavaApplication, JavaHost};
pub use level::ServerLevel;
pub use played::{Executed, Fate, Played, PlayedInstance};
pub use report::{Judged, Replay};
pub use server::{Server, ServerOptions};
pub use shown::{schema_text, shown_text};
