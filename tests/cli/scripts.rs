//! What scripts, shells and CI rely on: quiet, colours, several files, JUnit, SARIF, completions, manual pages.

use super::{Folder, HOLDS, Run, VIOLATED, command, corpus, isolde, pages};
use serde_json::Value;

#[test]
fn the_page_on_ci_shows_real_output_and_commands_that_exist() {
    pages::shows_real_output("docs/ci.md", 1);
    let text = pages::read("docs/ci.md");
    let commands: Vec<Vec<String>> = pages::blocks(&text, "yaml")
        .iter()
        .flat_map(|block| block.lines())
        .map(|line| {
            line.trim()
                .trim_start_matches("- ")
                .trim_start_matches("run: ")
        })
        .filter(|line| line.starts_with("isolde "))
        .map(pages::words)
        .collect();
    assert!(commands.len() >= 2, "{commands:?}");
    for command in commands {
        // Parsed up to its end, so that an option which is gone is noticed; '--help' ends it before it works.
        let args: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
        isolde(&[&args[..], &["--help"]].concat()).exits(0);
        let known = isolde(&[args[0], "--help"]).out;
        for option in args.iter().filter(|arg| arg.starts_with("--")) {
            assert!(known.contains(*option), "{option} of {command:?}");
        }
    }
}

#[test]
fn the_page_on_reports_shows_real_output() {
    pages::shows_real_output("docs/reports.md", 1);
}

#[test]
fn a_violation_is_drawn_and_says_what_shows_more() {
    let file = corpus("levels/write-skew.txt");
    let plain = isolde(&["check", "--level", "ser", &file]).exits(1);
    let plain = plain.says(&[
        "┌▶ s1t1, line 5  r(1, 0) r(2, 0) w(2, 1)",
        "│   │ rw 1: read what was overwritten by",
        "└───┘",
        "still holds: ",
        "isolde explain write-skew",
        "--report DIR",
        "--shrink part.jsonl",
    ]);
    assert!(!plain.out.contains('\u{1b}'), "{}", plain.out);
    let coloured = isolde(&["check", "--level", "ser", "--color", "always", &file]);
    assert!(coloured.out.contains("\u{1b}[35m"), "{}", coloured.out);
}

#[test]
fn foreign_text_cannot_steer_the_terminal() {
    let folder = Folder::new("steer");
    let evil = "\\u001b[2Jx\\ny\\u202e";
    let lines = format!(
        "{{\"session\":0,\"txn\":0,\"ops\":[[\"r\",\"{evil}\",null],[\"w\",\"{evil}\",\"{evil}\"]]}}\n\
         {{\"session\":1,\"txn\":1,\"ops\":[[\"r\",\"{evil}\",null],[\"w\",\"{evil}\",2]]}}\n"
    );
    let file = folder.file("evil.jsonl", lines);
    let run = isolde(&["check", &file]).exits(1).says(&["lost-update"]);
    let is_bad = |letter: char| letter != '\n' && letter.is_control() || letter == '\u{202e}';
    assert!(!run.out.contains(is_bad), "{:?}", run.out);
}

#[test]
fn quiet_prints_errors_and_data_only() {
    let (holds, violated) = (corpus(HOLDS), corpus(VIOLATED));
    for (args, code) in [
        (vec!["check", "--quiet", &violated], 1),
        (vec!["--quiet", "check", &holds, &violated], 1),
        (vec!["generate", "--check", "-q", "--txns", "5"], 0),
        (vec!["model", "-q", "2pl", "--txns", "1", "-l", "ra"], 3),
    ] {
        let run = isolde(&args).exits(code);
        assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""), "{args:?}");
    }
    let run = isolde(&["check", "--quiet", "--json", &violated]).exits(1);
    assert_eq!(run.json()["results"][0]["verdict"], "holds");
    isolde(&["check", "--quiet", "no-such-file"])
        .exits(2)
        .complains(&["no-such-file"]);
    assert!(
        isolde(&["levels", "--quiet"])
            .exits(0)
            .out
            .contains("causal")
    );
    isolde(&["check", "--quiet", "--verbose", &holds]).exits(2);
}

/// Quiet, nothing is explained; a verdict must not rest on that.
#[test]
fn quiet_ends_as_loud_does() {
    for kind in [
        "counters", "levels", "lists", "outcomes", "patterns", "sets", "values",
    ] {
        let folder = format!("{}/tests/corpus/{kind}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(&folder).expect("the corpus is there");
        let mut count = 0;
        for file in files {
            let file = file.expect("an entry").path().display().to_string();
            let loud = isolde(&["check", "--json", &file]);
            let quiet = isolde(&["check", "--quiet", &file]);
            assert_eq!(quiet.code, loud.code, "{file}");
            count += 1;
        }
        assert!(count > 1, "{count} files in {folder}");
    }
}

#[test]
fn verbose_tells_how_long_reading_took() {
    isolde(&["check", "-v", &corpus(HOLDS)])
        .exits(0)
        .complains(&["transactions read as text in 0."])
        .says(&["observe"]);
    let folder = Folder::new("verbose");
    let copy = folder.path("copy.jsonl");
    isolde(&["convert", "--verbose", &corpus(HOLDS), &copy])
        .exits(0)
        .complains(&["read as text"]);
}

#[test]
fn colours_follow_the_option_then_the_environment() {
    let file = corpus(VIOLATED);
    let check = |color: &[&str], environment: &[(&str, &str)]| {
        let mut command = command(&[&["check", &file][..], color].concat());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        command.envs(environment.iter().copied());
        let run = Run::of(command.output().expect("the binary starts"));
        run.exits(1).out.contains('\u{1b}')
    };
    assert!(!check(&[], &[]), "a pipe is plain");
    assert!(check(&["--color", "always"], &[]));
    assert!(check(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!check(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(check(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!check(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

/// On a terminal there are colours, and lines are as long as it is wide.
#[test]
fn colours_and_width_follow_the_terminal() {
    let Ok(probe) = std::process::Command::new("script")
        .arg("--version")
        .output()
    else {
        println!("skipped: there is no program 'script' to make a terminal with");
        return;
    };
    assert!(probe.status.success());
    let file = corpus("levels/bank-transfer.jsonl");
    let program = env!("CARGO_BIN_EXE_isolde");
    let on_terminal = |columns: u32| {
        let line = format!("stty rows 40 cols {columns} && {program} check -l ra {file}");
        let output = std::process::Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .output()
            .expect("script starts");
        String::from_utf8(output.stdout).expect("text")
    };
    let (narrow, wide) = (on_terminal(60), on_terminal(130));
    assert!(narrow.contains("\u{1b}[31m"), "{narrow}");
    let longest = |text: &str| {
        let told = text
            .lines()
            .skip_while(|line| !line.contains("is violated:"));
        let told = told.take_while(|line| line.trim_end() != "more:");
        told.map(|line| line.trim_end().chars().count()).max()
    };
    assert!(longest(&narrow) <= Some(70), "{narrow}");
    assert!(longest(&wide) > Some(90), "{wide}");
    let still = narrow
        .lines()
        .skip_while(|line| !line.contains("still holds:"));
    let mut still = still.take_while(|line| !line.trim().is_empty());
    let plain = |line: &str| line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    assert!(
        still.all(|line| plain(line.trim_end()).chars().count() <= 60),
        "{narrow}"
    );
}

#[test]
fn several_files_end_with_a_table() {
    let (holds, violated) = (corpus(HOLDS), corpus(VIOLATED));
    let run = isolde(&["check", &holds, "no-such-file", &violated]).exits(2);
    let table = run.out.rsplit("\n\n").next().expect("a table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert_eq!(
        rows[0],
        ["file", "verdict", "transactions", "seconds", "levels"]
    );
    assert_eq!(rows[1][..2], [holds.as_str(), "holds"]);
    assert_eq!(rows[1][4], "strong-session-serializable");
    assert_eq!(rows[2][..4], ["no-such-file", "bad", "input", "-"]);
    assert_eq!(rows[3][1], "violated");
    let run = isolde(&["check", "-l", "ser", "-l", "rc", &holds, &violated]).exits(1);
    let last = run.out.lines().last().expect("a row");
    assert!(last.ends_with("  strong-session-serializable"), "{last}");
    assert!(
        !isolde(&["check", &holds])
            .out
            .contains("transactions  seconds")
    );
}

#[test]
fn the_worst_file_gives_the_exit_code() {
    let (holds, violated) = (corpus(HOLDS), corpus(VIOLATED));
    let folder = Folder::new("worst");
    let unknown = folder.file(
        "unknown.jsonl",
        "{\"session\":0,\"ops\":[[\"add\",\"s\",1],[\"w\",\"s\",2]]}\n",
    );
    isolde(&["check", &holds, &unknown]).exits(3);
    isolde(&["check", &unknown, &violated, &holds]).exits(1);
    isolde(&["check", &violated, "no-such-file", &unknown]).exits(2);
}

#[test]
fn a_check_is_written_for_ci() {
    let folder = Folder::new("ci");
    let (junit, sarif) = (folder.path("junit.xml"), folder.path("isolde.sarif"));
    let violated = corpus("levels/bank-transfer.jsonl");
    let args = [
        "check", "-l", "rc", "-l", "ra", "--junit", &junit, "--sarif", &sarif,
    ];
    isolde(&[&args[..], &[&corpus(HOLDS), &violated, "no<such>file"]].concat()).exits(2);
    let xml = std::fs::read_to_string(&junit).expect("JUnit");
    for part in [
        "<testsuites>",
        "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\"",
        "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\"",
        "<failure type=\"fractured-read\" message=\"violated\">",
        "name=\"no&lt;such&gt;file\" tests=\"1\" failures=\"0\" errors=\"1\"",
    ] {
        assert!(xml.contains(part), "no {part:?} in: {xml}");
    }
    assert_eq!(xml.matches("<testsuite ").count(), 3);
    assert_eq!(
        xml.matches("<testcase ").count(),
        xml.matches("/>").count() + xml.matches("</failure>").count()
    );
    let text = std::fs::read_to_string(&sarif).expect("SARIF");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let run = &document["runs"][0];
    let rule = &run["tool"]["driver"]["rules"][0];
    assert_eq!(rule["id"], "fractured-read");
    let help = rule["help"]["text"].as_str().expect("a text");
    assert!(help.contains("isolde explain fractured-read"), "{help}");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 1);
    let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
    assert!(uri.ends_with("bank-transfer.jsonl"), "{uri}");
}

#[test]
fn anomalies_say_where_they_are_in_the_file() {
    isolde(&["check", "-l", "ra", &corpus("levels/bank-transfer.jsonl")])
        .exits(1)
        .says(&["s2t2, line 3", "s3t3, line 4", "still holds:"]);
    isolde(&["check", "-l", "ser", &corpus("levels/write-skew.txt")])
        .exits(1)
        .says(&["s1t1, line "]);
    let edn = corpus("elle/dgraph-read-skew.edn");
    let json = isolde(&["check", "--json", "-l", "ser", &edn])
        .exits(1)
        .json();
    let lines = json["results"][0]["anomalies"][0]["lines"].as_array();
    let lines: Vec<u64> = lines
        .expect("lines")
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    let text = std::fs::read_to_string(&edn).expect("a file");
    let names = json["results"][0]["anomalies"][0]["transactions"].as_array();
    for (name, line) in names.expect("names").iter().zip(&lines) {
        let index = name
            .as_str()
            .and_then(|name| name.split('t').next_back())
            .expect("a number");
        let line = text.lines().nth(*line as usize - 1).expect("a line");
        assert!(
            line.contains(&format!(":index {index}}}")),
            "{name}: {line}"
        );
    }
    assert!(!lines.is_empty());
}

/// What a person needs to go on, in this order: the verdict, the reason, the operations, the next command.
#[test]
fn the_report_ends_with_the_command_that_shows_more() {
    let folder = Folder::new("a name with spaces");
    let file = folder.file(
        "it's.txt",
        "w(1,11,0,0)\nr(1,11,0,0)\nr(1,0,1,1)\nw(1,12,1,1)\nr(1,0,2,2)\nw(1,13,2,2)\n",
    );
    let run = isolde(&["check", "-l", "cs", &file]).exits(1);
    let order = [
        "violated  cursor-stability",
        "still holds:",
        "is violated: lost-update",
        "both overwrote",
        "s1t1, line 3",
        "--level cursor-stability --shrink part.jsonl",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|part| run.out.find(part)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{}",
        run.out
    );
    let command = run.out.lines().last().expect("a command").trim();
    let script = command.replacen("isolde", env!("CARGO_BIN_EXE_isolde"), 1);
    // As it stands there.
    let out = folder.path("part.jsonl");
    let shell = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path(""))
        .output();
    assert_eq!(Run::of(shell.expect("a shell")).exits(1).code, 1);
    assert!(std::path::Path::new(&out).exists(), "{script}");
}

#[test]
fn shells_complete_commands_and_options() {
    for (shell, part) in [
        ("bash", "complete -F _isolde"),
        ("zsh", "#compdef isolde"),
        ("fish", "complete -c isolde"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        isolde(&["completions", shell])
            .exits(0)
            .says(&[part, "certify", "shrink", "junit"]);
    }
    isolde(&["completions", "tcsh"])
        .exits(2)
        .complains(&["zsh"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new("man");
    let directory = folder.path("pages");
    isolde(&["man", &directory]).exits(0).complains(&["pages"]);
    let help = isolde(&["--help"]).exits(0).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() >= 11, "{names:?}");
    for name in names.iter().copied().chain(["model-table", "model-replay"]) {
        let page = std::fs::read_to_string(folder.path(&format!("pages/isolde-{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            page.contains(".SH OPTIONS") || page.contains(".SH SYNOPSIS"),
            "{page}"
        );
    }
    let elle = std::fs::read_to_string(folder.path("pages/isolde-elle-cli.1")).expect("a page");
    assert!(elle.contains("consistency"), "{elle}");
    isolde(&["man"])
        .exits(0)
        .says(&[".TH isolde 1", "Exit codes"]);
}

#[test]
fn options_of_elle_cli_are_its_own() {
    let file = corpus("elle/dgraph-read-skew.edn");
    let run = isolde(&["elle-cli", "-v", "--model", "rw-register", &file]).exits(1);
    assert!(run.out.starts_with('{'), "{}", run.out);
}
