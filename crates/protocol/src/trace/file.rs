//! A trace as a file that replays it: JSON, with the words of each step, so that a model that was
//! changed meanwhile is noticed.

use super::Run;
use crate::setup::Setup;
use crate::system::{Action, World};
use serde::{Deserialize, Serialize};

/// What a replay file holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayFile {
    /// The version of Isolde that wrote it.
    pub isolde: String,
    /// The name of the protocol, or of the mutant.
    pub protocol: String,
    /// The property that the run violates, by name; none for a run into a dead end or an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// In which form, `strict` or `paper`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Whether sessions order transactions.
    #[serde(default)]
    pub sessions: bool,
    /// The world around the protocol.
    pub world: World,
    /// The initial state, for people.
    pub setup_text: String,
    /// The initial state.
    pub setup: Setup,
    /// What happens, in order.
    pub trace: Vec<Action>,
    /// What each step does, in words.
    pub steps: Vec<String>,
}

/// A step that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The number of the step, from 1.
    pub step: usize,
    /// What the file says.
    pub was: String,
    /// What happens now.
    pub is: String,
}

impl ReplayFile {
    /// The file as JSON, a step a line.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a file.
    pub fn from_json(text: &str) -> Result<ReplayFile, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The first step of `run` that is not what the file says.
    pub fn changed(&self, run: &Run) -> Option<Changed> {
        let lines = run.lines();
        let count = self.steps.len().max(lines.len());
        let get = |list: &[String], place: usize| -> String {
            list.get(place)
                .map_or_else(|| "nothing".to_string(), Clone::clone)
        };
        (0..count)
            .map(|place| Changed {
                step: place + 1,
                was: get(&self.steps, place),
                is: get(&lines, place),
            })
            .find(|step| step.was != step.is)
    }
}
