-- Twitter as in CLOTHO's evaluation (PLDI 2019): tweets go into the table that is read.
--
-- Specification: as twitter.sql, with the differences of that evaluation: there is no table of new
-- tweets, a tweet's number is one more than one read before, and queries have no limit.

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

transaction GetTweet(tweet int)
  select id, uid, text, createdate from tweets where id = :tweet;
end;

transaction GetTweetsFromFollowing(u int)
  for followed in select f2 from follows where f1 = :u loop
    select id, uid, text, createdate from tweets where uid = :followed.f2;
  end loop;
end;

transaction GetFollowers(u int)
  for follower in select f2 from followers where f1 = :u loop
    select uid, name from user_profiles where uid = :follower.f2;
  end loop;
end;

transaction GetUserTweets(u int)
  select id, uid, text, createdate from tweets where uid = :u;
end;

transaction InsertTweet(u int, content text, at timestamp)
  select id into :last from tweets where uid = :u;
  let next = 1;
  if found then
    let next = :last + 1;
  end if;
  insert into tweets (id, uid, text, createdate) values (:next, :u, :content, :at);
end;
