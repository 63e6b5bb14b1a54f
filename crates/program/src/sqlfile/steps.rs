//! The steps of a transaction.

use super::scan::{Scanner, Span, word_of};
use super::values::{DOT, Names, RowName};
use crate::expr::{Condition, Expr, Row, StatementId, UnknownId};
use crate::ir::{Label, Repeat, Statement, Step, Transaction};
use crate::place::{Note, Place, ProgramError};
use crate::schema::Schema;
use crate::sql::split::{one_line, opaque_length};
use crate::sql::{Sql, read_condition, read_sql, read_value};

const NESTING_MAX: usize = 50;

/// A body on its way.
pub(super) struct Body<'a, 't> {
    schema: &'a Schema,
    transaction: Transaction,
    scanner: &'a mut Scanner<'t>,
    names: Names,
    notes: Vec<Note>,
    statement_next: u32,
    label_next: u32,
    depth: usize,
    /// The loops around, for `exit`.
    loops: Vec<Label>,
}

type Read<T> = Result<T, ProgramError>;

impl<'a, 't> Body<'a, 't> {
    pub fn new(
        schema: &'a Schema,
        transaction: Transaction,
        scanner: &'a mut Scanner<'t>,
    ) -> Body<'a, 't> {
        Body {
            schema,
            names: Names::new(&transaction),
            transaction,
            scanner,
            notes: Vec::new(),
            statement_next: 0,
            label_next: 0,
            depth: 0,
            loops: Vec::new(),
        }
    }

    /// Reads up to the `end` of the transaction.
    pub fn read(mut self) -> Read<(Transaction, Vec<Note>)> {
        let body = self.steps(&["end"])?;
        self.scanner.expect("end", "")?;
        self.scanner.take("transaction");
        let why = "A transaction ends with `end;`, a branch with `end if;`, a loop with \
                   `end loop;`.";
        self.scanner.expect(";", why)?;
        self.transaction.body = body;
        self.transaction.variables = self.names.variables;
        Ok((self.transaction, self.notes))
    }

    /// Steps up to one of the words, which is not passed.
    fn steps(&mut self, ends: &[&str]) -> Read<Vec<Step>> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            let problem = format!("nested more than {NESTING_MAX} deep");
            return Err(ProgramError::new(&self.scanner.place(), problem, ""));
        }
        let mut steps = Vec::new();
        loop {
            let word = self.scanner.peek();
            if ends.contains(&word.as_str()) {
                break;
            }
            if self.scanner.is_at_end() || word == "transaction" {
                let name = &self.transaction.name;
                let problem = format!("the transaction {name} is not ended");
                let advice = "Write `end;` behind its last statement.";
                return Err(ProgramError::new(&self.scanner.place(), problem, advice));
            }
            self.step(&word, &mut steps)?;
        }
        self.depth -= 1;
        Ok(steps)
    }

    fn step(&mut self, word: &str, steps: &mut Vec<Step>) -> Read<()> {
        match word {
            "if" => {
                self.scanner.take("if");
                let step = self.branch()?;
                steps.push(step);
            }
            "for" | "while" | "loop" | "repeat" => {
                self.scanner.take(word);
                self.looped(word, steps)?;
            }
            "else" | "elsif" | "elseif" => {
                let problem = format!("`{word}` without `if`");
                return Err(ProgramError::new(&self.scanner.place(), problem, ""));
            }
            "let" => {
                self.scanner.take("let");
                self.assign(steps)?;
            }
            "require" => {
                self.scanner.take("require");
                let (span, _) = self.scanner.until(&[";"], "the condition")?;
                let condition = self.condition(&span)?;
                steps.push(Step::If {
                    condition,
                    then: Vec::new(),
                    otherwise: vec![Step::Abort {
                        place: span.place.clone(),
                    }],
                    place: span.place,
                });
            }
            "level" => {
                self.scanner.take("level");
                let (span, _) = self.scanner.until(&[";"], "the level")?;
                self.transaction.level = Some(span.text.trim().to_ascii_lowercase());
            }
            "abort" | "raise" => {
                let place = self.scanner.place();
                self.scanner.until(&[";"], "the step")?;
                steps.push(Step::Abort { place });
            }
            "exit" | "return" => self.leave(word, steps)?,
            _ => self.statement(steps)?,
        }
        Ok(())
    }

    fn leave(&mut self, word: &str, steps: &mut Vec<Step>) -> Read<()> {
        let place = self.scanner.place();
        self.scanner.until(&[";"], "the step")?;
        match (word, self.loops.last()) {
            ("exit", Some(label)) => steps.push(Step::Break(*label)),
            ("exit", None) => {
                let problem = "`exit` outside of any loop";
                return Err(ProgramError::new(&place, problem, "`return;` ends it all."));
            }
            _ => steps.push(Step::Commit),
        }
        Ok(())
    }

    /// After `if` or `elsif`.
    fn branch(&mut self) -> Read<Step> {
        let (span, _) = self.scanner.until(&["then", ";"], "the condition")?;
        let condition = self.condition(&span)?;
        let then = self.steps(&["else", "elsif", "elseif", "end"])?;
        let mut otherwise = Vec::new();
        if self.scanner.take("elsif") || self.scanner.take("elseif") {
            self.depth += 1;
            otherwise.push(self.branch()?);
            self.depth -= 1;
        } else {
            if self.scanner.take("else") {
                otherwise = self.steps(&["end"])?;
            }
            self.end("if", &span.place)?;
        }
        Ok(Step::If {
            condition,
            then,
            otherwise,
            place: span.place,
        })
    }

    fn end(&mut self, what: &str, opened: &Place) -> Read<()> {
        let why = format!("The `{what}` at {opened} ends with `end {what};`.");
        self.scanner.expect("end", &why)?;
        self.scanner.expect(what, &why)?;
        self.scanner.expect(";", &why)
    }

    fn looped(&mut self, word: &str, steps: &mut Vec<Step>) -> Read<()> {
        let place = self.scanner.place();
        let rows = self.names.rows.len();
        let repeat = match word {
            "for" => self.for_head(steps)?,
            "while" => {
                let (span, _) = self.scanner.until(&["loop", "do", ";"], "the condition")?;
                Repeat::While {
                    before: Vec::new(),
                    condition: self.condition(&span)?,
                }
            }
            _ => Repeat::While {
                before: Vec::new(),
                condition: self.any(),
            },
        };
        let label = Label(self.label_next);
        self.label_next += 1;
        self.loops.push(label);
        let body = self.steps(&["end"])?;
        self.loops.pop();
        self.end(if word == "repeat" { "repeat" } else { "loop" }, &place)?;
        self.names.rows.truncate(rows);
        steps.push(Step::Loop {
            label,
            repeat,
            body,
            place,
        });
        Ok(())
    }

    /// `for [each] name in select … loop` or `for [each] name in :list loop`.
    fn for_head(&mut self, steps: &mut Vec<Step>) -> Read<Repeat> {
        // `for each row r in …`, where each of the words may be the name: `for row in …`.
        let mut name = self.scanner.name("the name of a row or an element")?;
        for word in ["each", "row"] {
            if name.eq_ignore_ascii_case(word) && self.scanner.peek() != "in" {
                name = self.scanner.name("the name of a row or an element")?;
            }
        }
        self.scanner
            .expect("in", "Loops are `for name in select … loop`.")?;
        let (span, _) = self
            .scanner
            .until(&["loop", "do", ";"], "the loop's head")?;
        let span = without_brackets(span);
        if word_of(span.text.trim_start()).eq_ignore_ascii_case("select") {
            let statement = self.data(&span)?;
            let id = statement.id;
            let columns = statement.outputs.iter().map(|one| one.name.clone());
            self.names.rows.push(RowName {
                name,
                statement: id,
                columns: columns.collect(),
            });
            steps.push(Step::Execute(statement));
            return Ok(Repeat::Rows(id));
        }
        let list = read_value(&dotted(span.text), &span.place, &mut self.names)?;
        let variable = self.names.variable(&name);
        Ok(Repeat::Elements { list, variable })
    }

    /// After `let`.
    fn assign(&mut self, steps: &mut Vec<Step>) -> Read<()> {
        let place = self.scanner.place();
        let name = self.scanner.name("the name of a variable")?;
        self.scanner.take(":");
        self.scanner
            .expect("=", "Assignments are `let name = expression;`.")?;
        let (span, _) = self.scanner.until(&[";"], "the assignment")?;
        let value = read_value(&dotted(span.text), &span.place, &mut self.names);
        let value = value.map_err(|error| self.explained(error))?;
        let variable = self.bind(&name, &place)?;
        steps.push(Step::Let { variable, value });
        Ok(())
    }

    fn bind(&mut self, name: &str, place: &Place) -> Read<crate::expr::VariableId> {
        if self.names.is_parameter(name) {
            let problem = format!("{name} is a parameter and cannot be assigned");
            return Err(ProgramError::new(place, problem, "Use another name."));
        }
        Ok(self.names.variable(name))
    }

    fn any(&mut self) -> Condition {
        self.names.unknown_next += 1;
        Condition::Unknown {
            id: UnknownId(self.names.unknown_next - 1),
            reads: Vec::new(),
        }
    }

    fn condition(&mut self, span: &Span<'_>) -> Read<Condition> {
        let found = read_condition(&dotted(span.text), &span.place, &mut self.names);
        found.map_err(|error| self.explained(error))
    }

    /// Says which names there are where one has no meaning.
    fn explained(&mut self, mut error: ProgramError) -> ProgramError {
        if self.names.met_question_mark {
            self.names.met_question_mark = false;
            error.problem = "`?` has no value in a transaction file".to_string();
            error.advice = "Name it: `:amount`, with `amount int` in the parameters.".to_string();
        } else if let Some(name) = self.names.not_found.take() {
            let mut known = self.names.parameters.clone();
            known.extend(self.names.variables.iter().map(|one| one.name.clone()));
            for row in &self.names.rows {
                let columns = row.columns.iter();
                known.extend(columns.map(|column| format!("{}.{column}", row.name)));
            }
            error.problem = format!("nothing is called :{name} here");
            error.advice = match known.is_empty() {
                true => "Declare it as a parameter, or bind it by `select … into :x`.".to_string(),
                false => format!("There are: {}.", known.join(", ")),
            };
        }
        error
    }

    fn statement(&mut self, steps: &mut Vec<Step>) -> Read<()> {
        let (span, _) = self.scanner.until(&[";"], "the statement")?;
        if span.text.trim().is_empty() {
            // A semicolon too many, as behind `begin`.
            return Ok(());
        }
        let (unbound, prefix) = without_gset(span.text);
        let (text, mut targets) = without_into(unbound);
        let plain = Span {
            text: &text,
            place: span.place.clone(),
        };
        let mut statement = match self.sql(&plain)? {
            Sql::Data(statement) => *statement,
            Sql::Commit => {
                steps.push(Step::Commit);
                return Ok(());
            }
            Sql::Rollback => {
                steps.push(Step::Abort { place: span.place });
                return Ok(());
            }
            Sql::Level(level) => {
                self.transaction.level = Some(level);
                return Ok(());
            }
            Sql::Begin | Sql::Ignored => return Ok(()),
        };
        statement.sql = one_line(&text);
        let (id, outputs) = (statement.id, statement.outputs.len());
        if let Some(prefix) = prefix {
            let names = statement.outputs.iter();
            targets = names.map(|one| format!("{prefix}{}", one.name)).collect();
        }
        self.names.executed(&statement);
        steps.push(Step::Execute(statement));
        if targets.len() > outputs {
            let problem = format!("{} names for {outputs} columns", targets.len());
            let advice = "Bind one name for each column, in order.";
            return Err(ProgramError::new(&span.place, problem, advice));
        }
        for (output, target) in targets.iter().enumerate() {
            let variable = self.bind(target, &span.place)?;
            let value = Expr::Field {
                statement: id,
                row: Row::Nth(0),
                output: output as u32,
            };
            steps.push(Step::Let { variable, value });
        }
        Ok(())
    }

    fn sql(&mut self, span: &Span<'_>) -> Read<Sql> {
        let id = StatementId(self.statement_next);
        let text = dotted(span.text);
        let read = read_sql(
            self.schema,
            &text,
            &span.place,
            id,
            &mut self.names,
            &mut self.notes,
        );
        let read = read.map_err(|error| self.explained(error))?;
        if matches!(read, Sql::Data(_)) {
            self.statement_next += 1;
        }
        Ok(read)
    }

    fn data(&mut self, span: &Span<'_>) -> Read<Statement> {
        match self.sql(span)? {
            Sql::Data(mut statement) => {
                statement.sql = one_line(span.text);
                self.names.executed(&statement);
                Ok(*statement)
            }
            _ => Err(ProgramError::new(
                &span.place,
                "a query is expected here",
                "",
            )),
        }
    }
}

/// `(select …)` without its brackets; everything else as it is.
fn without_brackets(span: Span<'_>) -> Span<'_> {
    let text = span.text.trim();
    let inner = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    match inner {
        Some(inner) if word_of(inner.trim_start()).eq_ignore_ascii_case("select") => Span {
            text: inner,
            place: span.place,
        },
        _ => span,
    }
}

/// `:row.column` as one placeholder.
fn dotted(text: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = opaque_length(rest) {
            out.push_str(&rest[..length]);
            at += length.max(1);
            continue;
        }
        if let Some(name) = rest.strip_prefix(':').map(word_of)
            && !name.is_empty()
        {
            out.push(':');
            out.push_str(name);
            at += 1 + name.len();
            let column = text[at..].strip_prefix('.').map(word_of).unwrap_or("");
            if !column.is_empty() {
                out.push_str(DOT);
                out.push_str(column);
                at += 1 + column.len();
            }
            continue;
        }
        let length = rest.chars().next().map_or(1, char::len_utf8);
        out.push_str(&rest[..length]);
        at += length;
    }
    out
}

/// A statement of a script without its `\gset`, and what the names begin with that this binds.
fn without_gset(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once("\\gset") {
        Some((before, prefix)) => (before, Some(prefix.trim())),
        None => (text, None),
    }
}

/// The statement with `into :a, :b` blanked out, and the names; `insert into` is not meant.
fn without_into(text: &str) -> (String, Vec<String>) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = opaque_length(rest) {
            at += length.max(1);
            continue;
        }
        let word = word_of(rest);
        if word.eq_ignore_ascii_case("into") && rest[4..].trim_start().starts_with(':') {
            let (length, names) = target_names(&rest[4..]);
            let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
            let cut = &rest[..4 + length];
            let blanked: String = cut.chars().map(blank).collect();
            let plain = format!("{}{blanked}{}", &text[..at], &rest[4 + length..]);
            return (plain, names);
        }
        at += match word.len() {
            0 => rest.chars().next().map_or(1, char::len_utf8),
            length => length,
        };
    }
    (text.to_string(), Vec::new())
}

/// `:a, :b` at the start of a text: its length and the names.
fn target_names(text: &str) -> (usize, Vec<String>) {
    let mut names = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let start = rest.len() - rest.trim_start().len();
        let Some(name) = rest[start..].strip_prefix(':').map(word_of) else {
            return (at, names);
        };
        if name.is_empty() {
            return (at, names);
        }
        names.push(name.to_string());
        at += start + 1 + name.len();
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        match rest[blank..].starts_with(',') {
            true => at += blank + 1,
            false => return (at, names),
        }
    }
}
