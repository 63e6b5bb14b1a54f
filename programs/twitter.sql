-- Twitter: five transactions of a micro-blogging service.
--
-- Specification: the Twitter benchmark of OLTP-Bench (Difallah and others, VLDB 2013): look-ups of
-- tweets and followers, and an insert into a table of new tweets whose number the database chooses.
--
-- Difference: a list of followers is read row by row rather than by one `in (…)` of twenty names.

create table user_profiles (
  uid int primary key,
  name text,
  email text,
  partitionid int,
  partitionid2 int,
  followers int
);

create table followers (
  f1 int not null references user_profiles (uid),
  f2 int not null references user_profiles (uid),
  primary key (f1, f2)
);

create table follows (
  f1 int not null references user_profiles (uid),
  f2 int not null references user_profiles (uid),
  primary key (f1, f2)
);

create table tweets (
  id int primary key,
  uid int not null references user_profiles (uid),
  text text not null,
  createdate timestamp
);

create table added_tweets (
  id serial primary key,
  uid int not null references user_profiles (uid),
  text text not null,
  createdate timestamp
);

transaction GetTweet(tweet int)
  select id, uid, text, createdate from tweets where id = :tweet;
end;

transaction GetTweetsFromFollowing(u int)
  for followed in select f2 from follows where f1 = :u limit 20 loop
    select id, uid, text, createdate from tweets where uid = :followed.f2;
  end loop;
end;

transaction GetFollowers(u int)
  for follower in select f2 from followers where f1 = :u limit 20 loop
    select uid, name from user_profiles where uid = :follower.f2;
  end loop;
end;

transaction GetUserTweets(u int)
  select id, uid, text, createdate from tweets where uid = :u limit 10;
end;

transaction InsertTweet(u int, content text, at timestamp)
  insert into added_tweets (uid, text, createdate) values (:u, :content, :at);
end;
