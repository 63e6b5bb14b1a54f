//! Writes `layout.ld`: the functions that run in checks of small histories, as the linker finds them.
//!
//! ```text
//! cargo bench --bench layout > new.ld && mv new.ld layout.ld
//! ```
//! Steps: link the program again, with a map of its sections; run it under valgrind, which must be installed, and see
//! which sections run; print one pattern for each, without the hashes that change from build to build. What runs at the
//! weakest level comes first, then what only stronger ones run; patterns that take many other functions along (methods of
//! `Vec`, say, whose names do not tell what it holds) come behind the others of a run, and are asked for only in the piece
//! of the crate where they run.
#![allow(missing_docs)]

mod measure;

use history::Level;
use measure::{Failure, Scratch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use workload::Config;

const HEAD: &str = "\
/* What runs in every check of a small history lies together in the program. Written by `cargo bench --bench layout`.

   The kernel maps a program in pieces of 64 kB and more round each place that runs. What a small check runs is half a
   megabyte of 24; scattered, as the compiler leaves it, it brings along five megabytes, more than the columns of ten
   thousand transactions take, and costs a third of the time until the first file is opened.

   These are names of functions without their hashes. One that is not there any more costs nothing, and what is missing
   costs memory and no more. build.rs gives this file to the linker. */
";

const CONSTANTS: &str = "\
SECTIONS
{
  .rodata.first :
  {
    *libc.a:*(.rodata .rodata.*)
    *libchecker-*:*(.rodata .rodata._ZN* .rodata..L*)
    *libhistory-*:*(.rodata .rodata._ZN* .rodata..L*)
    *libisolde-*:*(.rodata._ZN6isolde* .rodata..L*)
    *libstd-*:*(.rodata .rodata.*)
  }
}
INSERT BEFORE .rodata;
";

/// What is in no library, and what runs at the start of a program, but not under valgrind: the system's own library,
/// strings by newer processors.
const NATIVE: &str = "    *crt1.o(.text .text.*)
    *crtbegin*.o(.text .text.*)
    */deps/isolde-*.rcgu.o(.text .text.*)
    *libc.a:dl-lookup.o(.text .text.*)
    *libc.a:dl-object.o(.text .text.*)
    *libc.a:dl-setup_hash.o(.text .text.*)
    *libc.a:strcmp-*.o(.text .text.*)
    *libc.a:strstr-*.o(.text .text.*)
";

/// Patterns that take more bytes of other functions along come behind the others.
const OTHERS_MAX: u64 = 2048;

/// A section of code in the program.
struct Section {
    start: u64,
    size: u64,
    pattern: String,
    /// The same in its piece of the crate only, whose number may change with the code.
    in_piece: String,
}

fn main() -> Result<(), Failure> {
    // Tests run every benchmark with this word, and want no result.
    if std::env::args().any(|word| word == "--test") {
        return Ok(());
    }
    let scratch = Scratch::new("layout")?;
    let sections = linked(&scratch.file("map"))?;
    let mut taken = BTreeMap::<&str, u64>::new();
    for section in &sections {
        *taken.entry(&section.pattern).or_default() += section.size;
    }
    let (mut seen, mut lines) = (BTreeSet::new(), String::new());
    for (level, sessions, arguments) in RUNS {
        let file = scratch.file("history.txt");
        let config = Config {
            sessions: *sessions,
            ops_per_txn: 20,
            ..Config::default()
        };
        measure::write(&measure::history(&config, 10_000)?, &file)?;
        let ran = ran(&sections, *level, arguments, &file, &scratch.file("calls"))?;
        let mut used = BTreeMap::<&str, u64>::new();
        for section in &ran {
            *used.entry(&section.pattern).or_default() += section.size;
        }
        let mut wide = String::new();
        for section in ran {
            let pattern = section.pattern.as_str();
            let is_wide = taken[pattern] - used[pattern] > OTHERS_MAX;
            let (list, pattern) = match is_wide {
                true => (&mut wide, section.in_piece.as_str()),
                false => (&mut lines, pattern),
            };
            if seen.insert(pattern) {
                list.push_str(&format!("    {pattern}\n"));
            }
        }
        lines.push_str(&wide);
    }
    println!(
        "{HEAD}\n{CONSTANTS}\nSECTIONS\n{{\n  .text.first :\n  {{\n{NATIVE}{lines}  }}\n}}\nINSERT BEFORE .text;"
    );
    Ok(())
}

/// What is checked, the most frequent first: a level, how many sessions, and further arguments.
const RUNS: &[(Level, u32, &[&str])] = &[
    (Level::ReadCommitted, 10, &["--quiet"]),
    (Level::ReadCommitted, 1000, &["--quiet"]),
    (Level::ReadAtomic, 1000, &["--quiet"]),
    (Level::Causal, 50, &["--quiet"]),
    (Level::ReadCommitted, 10, &[]),
    (Level::Serializable, 50, &["--quiet"]),
];

/// The sections of the program's code, in the order of their addresses.
fn linked(map: &Path) -> Result<Vec<Section>, Failure> {
    let flag = format!("link-arg=-Wl,-Map={}", map.display());
    let arguments = ["rustc", "--release", "--bin", "isolde", "--", "-C", &flag];
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_string());
    let status = Command::new(cargo)
        .args(arguments)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err("the program was not linked".into());
    }
    let text = std::fs::read_to_string(map)?;
    let mut sections: Vec<Section> = text.lines().filter_map(section).collect();
    sections.sort_by_key(|section| section.start);
    Ok(sections)
}

/// A line of the map: address, address in memory, size, alignment, `file(member):(section)`.
fn section(line: &str) -> Option<Section> {
    let mut words = line.split_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let size = u64::from_str_radix(words.nth(1)?, 16).ok()?;
    let (file, name) = words.nth(1)?.split_once(":(")?;
    let name = name.strip_suffix(')')?;
    let (path, member) = file
        .strip_suffix(')')
        .unwrap_or(file)
        .split_once('(')
        .unwrap_or((file, ""));
    let archive = path.rsplit('/').next()?;
    if size == 0 || !name.starts_with(".text") {
        return None;
    }
    let (pattern, in_piece) = match archive.strip_suffix(".rlib") {
        Some(library) => {
            let library = library.rsplit_once('-').map_or(library, |(name, _)| name);
            let name = without_hashes(name);
            let piece = member.rsplit('-').next().unwrap_or_default();
            let in_piece = format!("*{library}-*:*-{piece}({name})");
            (format!("*{library}-*:*({name})"), in_piece)
        }
        // The C library has its string functions for every kind of processor.
        None if archive.ends_with(".a") => {
            let member = member
                .replace("-avx2", "-*")
                .replace("-avx-", "-*-")
                .replace("-evex", "-*");
            let pattern = format!("*{archive}:{member}(.text .text.*)");
            (pattern.clone(), pattern)
        }
        None => return None,
    };
    Some(Section {
        start,
        size,
        pattern,
        in_piece,
    })
}

/// Names end with a hash of 16 digits, or hold that of a crate behind `Cs`.
fn without_hashes(name: &str) -> String {
    let is_hash = |rest: &&str| {
        rest.get(..16)
            .is_some_and(|it| it.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    if let Some((before, _)) = name.rsplit_once("17h").filter(|(_, rest)| is_hash(rest)) {
        return format!("{before}17h*");
    }
    let mut parts = name.split("Cs");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| match part.split_once('_') {
        Some((hash, rest)) if hash.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            format!("{text}Cs*_{rest}")
        }
        _ => format!("{text}Cs{part}"),
    })
}

/// The sections of which an instruction runs in a check.
fn ran<'a>(
    sections: &'a [Section],
    level: Level,
    arguments: &[&str],
    file: &Path,
    calls: &Path,
) -> Result<Vec<&'a Section>, Failure> {
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-instr=yes", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", calls.display()))
        .arg(env!("CARGO_BIN_EXE_isolde"))
        .args(["check", "--level", &level.to_string()])
        .args(arguments)
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !status.success() {
        return Err(format!("the check under valgrind ended with {status}").into());
    }
    let mut places = BTreeSet::new();
    for line in std::fs::read_to_string(calls)?.lines() {
        let address = line
            .strip_prefix("0x")
            .and_then(|line| line.split(' ').next());
        let address = address.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let place =
            address.map(|address| sections.partition_point(|section| section.start <= address));
        places.extend(place.and_then(|behind| behind.checked_sub(1)));
    }
    Ok(places.into_iter().map(|place| &sections[place]).collect())
}
