//! The sessions of a directory that has one log for each.

use super::{FormatError, Place, Source};

/// The files by the number in a name like `T7.log`, or by their place where a name has none.
pub(super) fn of_files<'a>(
    sources: &'a [Source<'a>],
    letter: char,
) -> Result<Vec<(i64, &'a Source<'a>)>, FormatError> {
    let labelled = |(source, place): (&'a Source<'a>, i64)| {
        let file = source.name.rsplit(['/', '\\']).next().unwrap_or("");
        let number = file
            .strip_prefix(letter)
            .and_then(|n| n.strip_suffix(".log"));
        (number.and_then(|n| n.parse().ok()).unwrap_or(place), source)
    };
    let mut sessions: Vec<(i64, &Source)> = sources.iter().zip(0..).map(labelled).collect();
    sessions.sort_by_key(|(label, source)| (*label, source.name));
    if let Some(pair) = sessions.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let problem = format!("this and {} are both session {}", pair[0].1.name, pair[0].0);
        return Err(FormatError::new(Place::Whole, problem).in_file(pair[1].1.name));
    }
    Ok(sessions)
}
