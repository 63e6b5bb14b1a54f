//! Rust source as text: what is code and what is not, and where functions begin and end.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files of the repository with this extension, by path relative to the root, sorted.
pub fn files(extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        for path in entries.map(|entry| entry.expect("a readable entry").path()) {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
            if path.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci";
                if !hidden && !["target", "node_modules", "corpus"].contains(&name) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix(root()).expect("under the root").into());
            }
        }
    }
    found.sort();
    found
}

/// The text of a file, by path relative to the root.
pub fn read(path: &Path) -> String {
    let full = root().join(path);
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()))
}

/// Whether a path lies in a folder of this name.
pub fn within(path: &Path, folder: &str) -> bool {
    path.parent()
        .is_some_and(|parent| parent.iter().any(|part| part == folder))
}

/// The code of a Rust file: comments, strings and character literals become spaces, so that line
/// numbers stay. Inline test modules go, too, unless `tests` are wanted.
pub fn code(text: &str, tests: bool) -> String {
    let blanked = blank(text);
    if tests {
        blanked
    } else {
        without_tests(blanked)
    }
}

fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = chars.clone();
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end > at {
            for place in &mut out[at..end] {
                if *place != '\n' {
                    *place = ' ';
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    out.into_iter().collect()
}

/// Where the comment or literal that begins at `at` ends; `at` if none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let get = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let in_word = at > 0 && (get(at - 1).is_alphanumeric() || get(at - 1) == '_');
    match (get(at), get(at + 1)) {
        ('/', '/') => (at..chars.len())
            .find(|&i| chars[i] == '\n')
            .unwrap_or(chars.len()),
        ('/', '*') => block_comment_end(chars, at),
        ('"', _) => string_end(chars, at),
        ('b', '"' | '\'') if !in_word => at + 1,
        ('r', '"' | '#') if !in_word => raw_string_end(chars, at + 1).unwrap_or(at),
        ('b', 'r') if !in_word => raw_string_end(chars, at + 2).unwrap_or(at),
        ('\'', '\\') => {
            // The character behind the backslash may itself be a quote.
            let close = (at + 3..chars.len()).find(|&i| chars[i] == '\'');
            close.map_or(chars.len(), |i| i + 1)
        }
        // Otherwise it is a lifetime.
        ('\'', _) if get(at + 2) == '\'' => at + 3,
        _ => at,
    }
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// The end of a raw string whose hashes begin at `at`, if there is one.
fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at..].iter().take_while(|&&c| c == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return None;
    }
    let closes = |i: usize| {
        chars[i] == '"' && chars[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    let end = (at + hashes + 1..chars.len()).find(|&i| closes(i));
    Some(end.map_or(chars.len(), |i| i + 1 + hashes))
}

fn without_tests(code: String) -> String {
    let mut code = code;
    let marker = "#[cfg(test)]";
    let mut from = 0;
    while let Some(found) = code[from..].find(marker) {
        let start = from + found;
        let after = start + marker.len();
        let is_module = code[after..].trim_start().starts_with("mod ");
        let end = match body(&code, after) {
            Some((_, end)) if is_module => end,
            _ => after,
        };
        let blank: String = code[start..end]
            .chars()
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect();
        code.replace_range(start..end, &blank);
        from = start + blank.len();
    }
    code
}

/// The next `{ … }` from `at` on, unless a `;` comes first outside of brackets.
fn body(code: &str, at: usize) -> Option<(usize, usize)> {
    let (mut nested, mut depth, mut start) = (0i32, 0i32, None);
    for (offset, c) in code[at..].char_indices() {
        match c {
            '(' | '[' => nested += 1,
            ')' | ']' => nested -= 1,
            ';' if nested == 0 && depth == 0 => return None,
            '{' if nested == 0 || start.is_some() => {
                start.get_or_insert(at + offset);
                depth += 1;
            }
            '}' if start.is_some() => {
                depth -= 1;
                if depth == 0 {
                    return start.map(|start| (start, at + offset + 1));
                }
            }
            _ => {}
        }
    }
    None
}

/// The functions of a file's code: name, line of the signature, and length in lines.
pub fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    words(code)
        .into_iter()
        .filter(|&(_, word)| word == "fn")
        .filter_map(|(at, _)| {
            let rest = code[at + 2..].trim_start();
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let (_, end) = (!name.is_empty()).then(|| body(code, at))??;
            let first = line(at);
            Some((name, first, line(end) - first + 1))
        })
        .collect()
}

/// The words of a file's code with their places.
pub fn words(code: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in code.char_indices().chain([(code.len(), ' ')]) {
        let inside = c.is_alphanumeric() || c == '_';
        match start {
            None if inside => start = Some(at),
            Some(from) if !inside => {
                words.push((from, &code[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

#[test]
fn the_scanner_knows_code_from_text() {
    let text = r##"
fn one<'a>(x: &'a str) -> char { // fn no() {
    let s = "} \" {"; let r = r#"} " {"#; let b = b'}'; /* { /* } */ */
    '{'
}
fn two(f: fn(u8) -> u8) -> [u8; 3] { [f('\''as u8); 3] }
trait T { fn three(); }
#[cfg(test)]
mod tests { fn four() {} }
"##;
    let found = functions(&code(text, false));
    let expected = [("one".to_string(), 2, 4), ("two".to_string(), 6, 1)];
    assert_eq!(found, expected);
}
