//! C-Twitter, Cobra's clone of Twitter, on its thousand users: tweeting (40 %), following and
//! unfollowing (20 %), timelines (20 %), and looking up whom somebody follows (20 %). Users are
//! zipfian. A tweet updates the pointer to the user's latest tweet and writes two new rows; to
//! follow writes the relation in both directions, blindly.
//!
//! The mix is about that of Cobra's published logs; the paper does not say it.

use super::{Plan, Rows};
use crate::generate::random::Random;
use crate::generate::zipf::Zipf;

const USERS: u32 = 1000;
const LATEST: u32 = 0;
const FOLLOWS: u32 = LATEST + USERS;
const FOLLOWED: u32 = FOLLOWS + USERS * USERS;
pub const KEYS: u32 = FOLLOWED + USERS * USERS;

/// How many tweets a timeline shows.
const TIMELINE: u32 = 6;

/// A committed tweet.
#[derive(Clone, Copy, Debug)]
pub struct Tweet {
    user: u32,
    key: u32,
}

pub struct Twitter {
    users: Zipf,
    /// The latest tweet of each user.
    latest: Vec<Option<u32>>,
}

impl Twitter {
    pub fn new() -> Twitter {
        Twitter {
            users: Zipf::new(u64::from(USERS), 0.99),
            latest: vec![None; USERS as usize],
        }
    }

    pub fn plan(&mut self, plan: &mut Plan, random: &mut Random, rows: &mut Rows) {
        let user = self.user(random);
        match random.below(100) {
            0..40 => {
                let key = rows.take(2);
                plan.update(LATEST + user);
                plan.write(key);
                plan.write(key + 1);
                plan.tweet = Some(Tweet { user, key });
            }
            40..60 => {
                let other = self.user(random);
                plan.write(FOLLOWS + user * USERS + other);
                plan.write(FOLLOWED + other * USERS + user);
            }
            60..80 => {
                for _ in 0..TIMELINE {
                    let other = self.user(random);
                    plan.read(LATEST + other);
                    if let Some(tweet) = self.latest[other as usize] {
                        plan.read(tweet);
                    }
                }
            }
            _ => {
                plan.read(LATEST + user);
                for _ in 0..random.between(0, 2) {
                    let other = self.user(random);
                    plan.read(FOLLOWS + user * USERS + other);
                    plan.read(LATEST + other);
                }
            }
        }
    }

    pub fn committed(&mut self, tweet: Tweet) {
        self.latest[tweet.user as usize] = Some(tweet.key);
    }

    fn user(&self, random: &mut Random) -> u32 {
        self.users.draw(random) as u32 - 1
    }
}
