-- The tables of one crawl, in a schema of their own. What a worker sends is bytes: notices, messages and parcels are
-- encoded as in the contract, and nobody asks the database what is in them.
create table crawl(
    by_size bool not null, second_pass int not null default 0, paused bool not null default false,
    over text not null default '', stop text not null default '',
    speed text not null default '', given_speed text not null default '',
    max_pages bigint, max_bytes bigint, max_time double precision,
    workers int not null default 0, wanted int not null default 0, watched bool not null default false,
    shared_among int, offered_by text, rules_at int not null default 0, restarted int not null default 0);
create table restarts(
    id bigint generated always as identity primary key, worker int not null, at double precision not null,
    how text not null, cause text not null);
create sequence found;
create table groups(
    name text primary key, holder int, seed bool not null, found bigint not null,
    waiting int not null default 0, parcel bytea);
create index to_crawl on groups(seed desc, found) where holder is null and waiting > 0;
create index to_crawl_by_size on groups(seed desc, waiting desc) where holder is null and waiting > 0;
create index held_by on groups(holder) where holder is not null;
create table sites(name text primary key, list int not null, worker int not null);
create table waiting(id bigint primary key, grp text not null, notices bytea not null);
create index waiting_by_group on waiting(grp, id);
create table workers(
    number int primary key, incarnation int not null default 0, applied bigint not null default 0,
    taken bigint not null default 0, version bigint not null default 0,
    idle bool not null default false, starved bool not null default false, aside int not null default 0,
    pages bigint not null default 0, bytes bigint not null default 0, pending bigint not null default 0,
    allowance bigint, seconds double precision not null default 0,
    pages_rate double precision not null default 0, bytes_rate double precision not null default 0,
    hungry bool not null default true, heard_at timestamptz, in_run bool not null default true,
    statistics bytea not null default '');
-- How many messages each worker was ever sent: apart from `workers`, whose rows are each worker's own.
create table inboxes(worker int primary key, sent bigint not null default 0);
create table inbox(worker int not null, number bigint not null, message bytea not null, primary key (worker, number));
create table addresses(
    address text primary key, holder int, not_before timestamptz not null default '-infinity', wanted int);
create index lent on addresses(holder) where wanted is not null;
create table scope(number int primary key, url text not null unique);
create table rules(id bigint generated always as identity primary key, rule text not null unique);
