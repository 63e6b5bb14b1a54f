//! The command of an external driver: what stands after `exec:`, split into words, and how to speak of it
//! without the passwords in it.

use crate::driver::Error;
use crate::drivers::without_password;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub struct Command {
    /// At least the program.
    pub words: Vec<String>,
    /// What must not be shown, with what to show instead; the longest first.
    hidden: Vec<(String, String)>,
}

impl Command {
    /// The command of a URL `exec:COMMAND ARGS…`.
    pub fn of_url(url: &str) -> Result<Command, Error> {
        let text = url.strip_prefix("exec:").unwrap_or(url);
        let words = split(text).map_err(|what| Error::hopeless(format!("exec: {what}")))?;
        if words.is_empty() {
            return Err(Error::hopeless(
                "exec: which program? For example exec:./driver, or 'exec:python3 driver.py test.db'",
            ));
        }
        let mut hidden: Vec<(String, String)> = Vec::new();
        for word in &words {
            let plain = plain_word(word);
            if plain == *word {
                continue;
            }
            if let Some(secret) = secret(word) {
                hidden.push((secret, "…".to_string()));
            }
            hidden.push((word.clone(), plain));
        }
        hidden.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        Ok(Command { words, hidden })
    }

    /// The command for people.
    pub fn shown(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| self.scrub(word)).collect();
        words.join(" ")
    }

    /// A text without the passwords of the command.
    pub fn scrub(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (secret, plain) in &self.hidden {
            text = text.replace(secret.as_str(), plain);
        }
        text
    }
}

fn plain_word(word: &str) -> String {
    let word = without_password(word);
    match after_password(&word) {
        Some(at) => format!("{}…", &word[..at]),
        None => word,
    }
}

/// Where the value begins in a word such as `--password=…`.
fn after_password(word: &str) -> Option<usize> {
    // A URL's parameters are without_password's business.
    let at = word.to_ascii_lowercase().find("password=")?;
    (!word.contains("://")).then_some(at + "password=".len())
}

/// The password alone, for it may turn up elsewhere.
fn secret(word: &str) -> Option<String> {
    let secret = match after_password(word) {
        Some(at) => &word[at..],
        None => {
            let (_, rest) = word.split_once("://")?;
            rest[..rest.rfind('@')?].split_once(':')?.1
        }
    };
    // What is as short as this is in many words by chance.
    (secret.len() >= 3).then(|| secret.to_string())
}

/// Splits a text into words as a shell does: at blanks, but not inside quotes; a backslash takes the
/// meaning of the letter after it away. There are no variables and no wildcards.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => {
                let next = letters.next().ok_or("nothing after the last backslash")?;
                // Inside double quotes, other letters keep their backslash.
                if quote.is_some() && !"\"\\$`".contains(next) {
                    word.get_or_insert_default().push('\\');
                }
                word.get_or_insert_default().push(next);
            }
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let split = |text| split(text).expect(text);
        assert_eq!(split("  a  b\tc "), ["a", "b", "c"]);
        assert_eq!(split(r#"'a b' "c 'd'" e\ f"#), ["a b", "c 'd'", "e f"]);
        assert_eq!(split(r#"x'y'"z" '' "\n\"""#), ["xyz", "", "\\n\""]);
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert!(split("'a").is_err());
        assert!(split("\"a").is_err());
        assert!(split("a\\").is_err());
    }

    #[test]
    fn passwords_are_not_shown() {
        let command =
            Command::of_url("exec:./d pg://me:geheim@host/db --password=sesam").expect("a command");
        assert_eq!(command.shown(), "./d pg://me@host/db --password=…");
        let text = command.scrub("cannot reach pg://me:geheim@host/db (geheim, sesam)");
        assert_eq!(text, "cannot reach pg://me@host/db (…, …)");
    }
}
