//! The target of a request: a path of ours, and parameters.

/// The parameters behind the question mark, decoded.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

/// So many parameters at most.
const PARAMETERS_MAX: usize = 32;

impl Query {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a parameter that must be there.
    pub fn need(&self, name: &str) -> Result<&str, String> {
        self.get(name)
            .ok_or_else(|| format!("the parameter '{name}' is missing"))
    }

    /// The value of a parameter as a number, if it is there and not empty.
    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, String> {
        match self.get(name) {
            None | Some("") => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| format!("'{name}' is no number")),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Query, &'static str> {
        let mut pairs = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            if pairs.len() == PARAMETERS_MAX {
                return Err("too many parameters");
            }
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            pairs.push((decode(name)?, decode(value)?));
        }
        Ok(Query(pairs))
    }
}

/// The target as a path and parameters. The path itself is one of ours, so it has no escapes.
pub(super) fn split(target: &str) -> Result<(String, Query), &'static str> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_');
    if !path.starts_with('/') || !path.bytes().all(is_plain) || path.contains("..") {
        return Err("no such page");
    }
    Ok((path.to_string(), Query::parse(query)?))
}

/// Undoes the escapes of a parameter, once. What is then no text, or has a zero, is refused.
fn decode(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let [high, low, tail @ ..] = rest else {
                    return Err("a broken escape");
                };
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
                    return Err("a broken escape");
                };
                bytes.push((high * 16 + low) as u8);
                rest = tail;
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(*byte),
        }
    }
    if bytes.contains(&0) {
        return Err("a zero byte");
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_once() {
        let (path, query) = split("/api/x?path=a%2Fb+c&n=%2525&empty=").unwrap();
        assert_eq!(path, "/api/x");
        assert_eq!(query.get("path"), Some("a/b c"));
        assert_eq!(query.get("n"), Some("%25"));
        assert_eq!(query.number::<u32>("empty"), Ok(None));
    }

    #[test]
    fn odd_targets_are_refused() {
        for target in ["", "x", "/%2e%2e/", "/../x", "/a b", "*", "http://x/"] {
            assert!(split(target).is_err(), "{target}");
        }
        for query in ["a=%", "a=%zz", "a=%00", "a=%ff"] {
            assert!(Query::parse(query).is_err(), "{query}");
        }
        assert!(Query::parse(&"a=1&".repeat(33)).is_err());
    }
}
