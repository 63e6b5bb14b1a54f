//! The arguments of a plain check, told without the parser of all command lines.
//!
//! Most checks are asked with files, levels and a flag or two. Building the parser and its help for these takes longer
//! than to check a small history, and more memory than its columns. Whatever is not plain, or is wrong, is left to
//! [`crate::args::Arguments`], which also says what is wrong; both take what is plain for the same.

use crate::args::{CheckArgs, ColorArg, ReadArgs, ShowArgs};
use history::{Initial, KeyOrder, Level};
use std::ffi::OsString;

/// What the words behind the name of the program ask, if it is a plain check and nothing is wrong with it.
pub fn parse(mut words: impl Iterator<Item = OsString>) -> Option<(CheckArgs, ShowArgs)> {
    words.next().filter(|first| first == "check")?;
    let (mut check, mut show) = unasked();
    while let Some(word) = words.next() {
        let word = word.into_string().ok()?;
        match word.as_str() {
            "-l" | "--level" => check
                .levels
                .push(level(&words.next()?.into_string().ok()?)?),
            "-q" | "--quiet" => set(&mut show.quiet)?,
            "-v" | "--verbose" => set(&mut show.verbose)?,
            "--json" => set(&mut check.json)?,
            "--edn" => set(&mut check.edn)?,
            file if file == "-" || is_plain(file) => check.files.push(word),
            _ => return None,
        }
    }
    let contradicts = show.quiet && show.verbose || check.json && check.edn;
    (!contradicts && !check.files.is_empty()).then_some((check, show))
}

fn level(name: &str) -> Option<Level> {
    is_plain(name).then(|| name.parse().ok()).flatten()
}

/// Whether a word is no option.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-')
}

/// A flag may be there once.
fn set(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

/// What holds where nothing else is asked.
fn unasked() -> (CheckArgs, ShowArgs) {
    let check = CheckArgs {
        files: Vec::new(),
        levels: Vec::new(),
        read: ReadArgs {
            format: None,
            initial: Initial::default(),
        },
        keys: KeyOrder::Free,
        json: false,
        edn: false,
        certificate: None,
        report: None,
        explain: Vec::new(),
        shrink: None,
        junit: None,
        sarif: None,
        timeout: None,
        memory: None,
        progress_json: false,
    };
    let show = ShowArgs {
        color: ColorArg::Auto,
        quiet: false,
        verbose: false,
    };
    (check, show)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    /// What the parser of all command lines makes of a check.
    fn parsed(line: &str) -> Option<(CheckArgs, ShowArgs)> {
        let words = std::iter::once("isolde").chain(line.split(' '));
        let arguments = Arguments::try_parse_from(words).ok()?;
        match arguments.command {
            Command::Check(check) => Some((check, arguments.show)),
            _ => None,
        }
    }

    fn plain(line: &str) -> Option<(CheckArgs, ShowArgs)> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn what_is_plain_is_taken_as_the_parser_takes_it() {
        let lines = [
            "check a.txt",
            "check -",
            "check a.txt b.txt",
            "check help",
            "check -q a.txt",
            "check a.txt --quiet",
            "check a.txt -v --json",
            "check --edn -l causal a.txt --level si b.txt",
            "check --level read-committed --json a.txt -q",
        ];
        for line in lines {
            let found = plain(line);
            assert!(found.is_some(), "{line}");
            assert_eq!(found, parsed(line), "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_parser() {
        let lines = [
            "check",
            "check -q",
            "check a.txt -q -q",
            "check a.txt -q -v",
            "check a.txt --json --edn",
            "check a.txt --json --json",
            "check a.txt -l",
            "check a.txt -l nothing",
            "check a.txt -l -q",
            "check a.txt --level=causal",
            "check a.txt -lcausal",
            "check -qv a.txt",
            "check -- a.txt",
            "check --timeout 5 a.txt",
            "check --color never a.txt",
            "check --help",
            "certify a.txt b.json",
            "levels",
            "help check",
        ];
        for line in lines {
            assert_eq!(plain(line), None, "{line}");
        }
    }
}
