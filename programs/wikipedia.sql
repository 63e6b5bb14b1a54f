-- Wikipedia: five transactions of an encyclopedia: pages read with and without an account, pages
-- changed, watch lists.
--
-- Specification: the Wikipedia benchmark of OLTP-Bench (Difallah and others, VLDB 2013), after
-- MediaWiki's tables.
--
-- Differences: columns that are only carried along are left out (comments, flags, the many columns
-- of recentchanges, logging, ipblocks and useracct that no transaction compares or computes with);
-- the watch list has its unique columns as primary key, as in MediaWiki; where the original sends
-- one batch of updates, watchers are notified one after the other.

create table useracct (
  user_id int primary key,
  user_name text not null unique,
  user_touched timestamp,
  user_editcount int
);

create table user_groups (
  ug_user int not null references useracct (user_id),
  ug_group text not null,
  primary key (ug_user, ug_group)
);

create table ipblocks (
  ipb_id int primary key,
  ipb_address text not null,
  ipb_user int not null references useracct (user_id),
  ipb_expiry timestamp
);

create table page (
  page_id int primary key,
  page_namespace int not null,
  page_title text not null,
  page_is_new int,
  page_is_redirect int,
  page_touched timestamp,
  page_latest int,
  page_len int,
  unique (page_namespace, page_title)
);

create table page_restrictions (
  pr_id int primary key,
  pr_page int not null references page (page_id),
  pr_type text not null,
  pr_level text,
  unique (pr_page, pr_type)
);

create table text (
  old_id serial primary key,
  old_text text,
  old_flags text,
  old_page int
);

create table revision (
  rev_id serial primary key,
  rev_page int not null references page (page_id),
  rev_text_id int not null references text (old_id),
  rev_user int references useracct (user_id),
  rev_timestamp timestamp,
  rev_len int,
  rev_parent_id int
);

create table recentchanges (
  rc_id serial primary key,
  rc_timestamp timestamp,
  rc_user int references useracct (user_id),
  rc_namespace int,
  rc_title text,
  rc_cur_id int references page (page_id),
  rc_this_oldid int,
  rc_last_oldid int
);

create table logging (
  log_id serial primary key,
  log_timestamp timestamp,
  log_user int references useracct (user_id),
  log_namespace int,
  log_title text,
  log_page int,
  log_params text
);

create table watchlist (
  wl_user int not null references useracct (user_id),
  wl_namespace int not null,
  wl_title text not null,
  wl_notificationtimestamp timestamp,
  primary key (wl_user, wl_namespace, wl_title)
);

transaction AddWatchList(u int, namespace int, title text, now timestamp)
  if :u > 0 then
    insert into watchlist (wl_user, wl_namespace, wl_title, wl_notificationtimestamp)
      values (:u, :namespace, :title, null) on conflict do nothing;
    if :namespace = 0 then
      insert into watchlist (wl_user, wl_namespace, wl_title, wl_notificationtimestamp)
        values (:u, 1, :title, null) on conflict do nothing;
    end if;
    update useracct set user_touched = :now where user_id = :u;
  end if;
end;

transaction RemoveWatchList(u int, namespace int, title text, now timestamp)
  if :u > 0 then
    delete from watchlist where wl_user = :u and wl_namespace = :namespace and wl_title = :title;
    if :namespace = 0 then
      delete from watchlist where wl_user = :u and wl_namespace = 1 and wl_title = :title;
    end if;
    update useracct set user_touched = :now where user_id = :u;
  end if;
end;

transaction GetPageAnonymous(ip text, namespace int, title text)
  select page_id, page_latest into :p, :latest from page
    where page_namespace = :namespace and page_title = :title;
  if not found then abort; end if;
  select pr_type, pr_level from page_restrictions where pr_page = :p;
  select ipb_id, ipb_expiry from ipblocks where ipb_address = :ip;
  select rev_id, rev_text_id into :r, :t from revision where rev_page = :p and rev_id = :latest;
  if not found then abort; end if;
  select old_text, old_flags from text where old_id = :t;
  if not found then abort; end if;
end;

transaction GetPageAuthenticated(ip text, u int, namespace int, title text)
  if :u > 0 then
    select user_name, user_touched from useracct where user_id = :u;
    if not found then abort; end if;
    select ug_group from user_groups where ug_user = :u;
  end if;
  select page_id, page_latest into :p, :latest from page
    where page_namespace = :namespace and page_title = :title;
  if not found then abort; end if;
  select pr_type, pr_level from page_restrictions where pr_page = :p;
  select ipb_id, ipb_expiry from ipblocks where ipb_user = :u;
  select rev_id, rev_text_id into :r, :t from revision where rev_page = :p and rev_id = :latest;
  if not found then abort; end if;
  select old_text, old_flags from text where old_id = :t;
  if not found then abort; end if;
end;

transaction UpdatePage(p int, old_text_id int, old_revision int, namespace int, title text, content text, length int, u int, now timestamp)
  insert into text (old_text, old_flags, old_page) values (:content, 'utf-8', :p)
    returning old_id into :t;
  insert into revision (rev_page, rev_text_id, rev_user, rev_timestamp, rev_len, rev_parent_id)
    values (:p, :t, :u, :now, :length, :old_revision) returning rev_id into :r;
  update page set page_latest = :r, page_touched = :now, page_is_new = 0, page_is_redirect = 0,
      page_len = :length
    where page_id = :p;
  insert into recentchanges (rc_timestamp, rc_user, rc_namespace, rc_title, rc_cur_id,
                             rc_this_oldid, rc_last_oldid)
    values (:now, :u, :namespace, :title, :p, :t, :old_text_id);
  for watcher in select wl_user from watchlist
      where wl_title = :title and wl_namespace = :namespace and wl_user <> :u
        and wl_notificationtimestamp is null loop
    update watchlist set wl_notificationtimestamp = :now
      where wl_user = :watcher.wl_user and wl_namespace = :namespace and wl_title = :title;
    select user_name, user_touched, user_editcount from useracct
      where user_id = :watcher.wl_user;
  end loop;
  insert into logging (log_timestamp, log_user, log_namespace, log_title, log_page, log_params)
    values (:now, :u, :namespace, :title, :p, 'patrol');
  update useracct set user_editcount = user_editcount + 1 where user_id = :u;
  update useracct set user_touched = :now where user_id = :u;
end;
