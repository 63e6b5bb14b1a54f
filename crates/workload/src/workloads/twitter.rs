//! C-Twitter, Cobra's clone of Twitter, on tables: tweeting (40 %), following and unfollowing (20 %),
//! timelines (20 %), and looking up whom somebody follows (20 %). Users are zipfian. A tweet updates
//! the pointer to its author's latest and writes a new row; to follow writes the relation in both
//! directions, blindly.
//!
//! Source: Cobra (OSDI 2020, section 6); PolySI (VLDB 2023, section 5.1). The mix is about that of
//! Cobra's published logs. Where we differ: 100 users unless the user says otherwise, and since what
//! is read does not decide what is done, a timeline shows the tweet that committed last, as far as we
//! know, behind each pointer.

use super::client::{Client, Script, cell, scripted};
use super::{Shape, filled};
use crate::generate::config::Distribution;
use crate::generate::keys::KeyChoice;
use crate::generate::random::Random;
use crate::plan::{Action, Plan, Workload};
use crate::schema::{Cell, Schema, Table};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

const USER: u16 = 0;
const TWEET: u16 = 1;
const FOLLOWS: u16 = 2;
const FOLLOWED: u16 = 3;

const LATEST: u16 = 0;
const AUTHOR: u16 = 0;
const TEXT: u16 = 1;

/// How many tweets a timeline shows.
const TIMELINE: u32 = 6;

struct Twitter {
    users: u64,
    choice: KeyChoice,
    /// The latest committed tweet of each user who has one.
    latest: Mutex<HashMap<u64, u64>>,
}

pub fn make(shape: &Shape) -> Box<dyn Workload> {
    let users = shape.keys.unwrap_or(100);
    let distribution = shape.distribution.unwrap_or(Distribution::Zipfian(0.99));
    let script = Twitter {
        users,
        choice: KeyChoice::new(distribution, users),
        latest: Mutex::default(),
    };
    let table = Table::registers;
    let schema = Schema {
        tables: vec![
            table("twitter_user", &["latest"], filled(users)),
            table("twitter_tweet", &["author", "content"], 0),
            table("twitter_follows", &["since"], 0),
            table("twitter_followed", &["since"], 0),
        ],
    };
    scripted(schema, script, shape.seed, shape.abort_share.unwrap_or(0.0))
}

impl Script for Twitter {
    fn plan(&self, client: &mut Client, plan: &mut Plan) {
        let user = self.user(&mut client.random);
        match client.random.below(100) {
            0..40 => self.tweet(client, plan, user),
            40..60 => {
                plan.name = "follow";
                let other = self.user(&mut client.random);
                client.write(plan, cell(FOLLOWS, 0, user * self.users + other));
                client.write(plan, cell(FOLLOWED, 0, other * self.users + user));
            }
            60..80 => self.timeline(client, plan),
            _ => {
                plan.name = "whom";
                plan.act(Action::Read(pointer(user)));
                for _ in 0..client.random.between(0, 2) {
                    let other = self.user(&mut client.random);
                    let follows = cell(FOLLOWS, 0, user * self.users + other);
                    plan.act(Action::Read(follows));
                    plan.act(Action::Read(pointer(other)));
                }
            }
        }
    }

    fn ended(&self, plan: &Plan, committed: bool) {
        // The first action of a tweet is on its author's pointer.
        if let (true, "tweet", Some(first)) = (committed, plan.name, plan.actions().next()) {
            let author = first.cell().row as u64;
            self.latest().insert(author, plan.tag);
        }
    }
}

impl Twitter {
    fn tweet(&self, client: &mut Client, plan: &mut Plan, user: u64) {
        plan.name = "tweet";
        let tweet = client.unique.take() as u64;
        plan.tag = tweet;
        client.update(plan, pointer(user));
        client.write(plan, cell(TWEET, AUTHOR, tweet));
        client.write(plan, cell(TWEET, TEXT, tweet));
    }

    fn timeline(&self, client: &mut Client, plan: &mut Plan) {
        plan.name = "timeline";
        for _ in 0..TIMELINE {
            let other = self.user(&mut client.random);
            plan.act(Action::Read(pointer(other)));
            let tweet = self.latest().get(&other).copied();
            if let Some(tweet) = tweet {
                plan.act(Action::Read(cell(TWEET, AUTHOR, tweet)));
                plan.act(Action::Read(cell(TWEET, TEXT, tweet)));
            }
        }
    }

    fn user(&self, random: &mut Random) -> u64 {
        u64::from(self.choice.draw(random))
    }

    fn latest(&self) -> std::sync::MutexGuard<'_, HashMap<u64, u64>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pointer(user: u64) -> Cell {
    cell(USER, LATEST, user)
}
