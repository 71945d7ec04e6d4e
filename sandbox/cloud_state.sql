-- Tables of the cloud state. Secret values are in a second database, attached as "secrets".
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS resources (
  sequence INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, urn TEXT NOT NULL, region TEXT NOT NULL,
  inputs TEXT NOT NULL, computed TEXT NOT NULL, created TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS resources_id ON resources (type, id);
CREATE TABLE IF NOT EXISTS links (
  owner INTEGER NOT NULL, path TEXT NOT NULL, target_type TEXT NOT NULL, target_id TEXT NOT NULL, holds TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS links_target ON links (target_type, target_id);
CREATE INDEX IF NOT EXISTS links_owner ON links (owner);
CREATE TABLE IF NOT EXISTS claims (
  kind TEXT NOT NULL, key TEXT NOT NULL, owner INTEGER, until TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_owner ON claims (owner);
CREATE TABLE IF NOT EXISTS objects (
  version INTEGER PRIMARY KEY AUTOINCREMENT, bucket TEXT NOT NULL, key TEXT NOT NULL, content BLOB NOT NULL,
  etag TEXT NOT NULL, content_type TEXT NOT NULL, modified TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS objects_key ON objects (bucket, key);
CREATE TABLE IF NOT EXISTS operations (
  sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, type TEXT NOT NULL, urn TEXT NOT NULL, id TEXT NOT NULL,
  simulated_seconds REAL NOT NULL, error TEXT, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS secrets.versions (
  secret TEXT NOT NULL, version TEXT NOT NULL, value TEXT NOT NULL, created TEXT NOT NULL,
  PRIMARY KEY (secret, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS boots (
  instance TEXT PRIMARY KEY, machine TEXT NOT NULL, bundle TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS faults (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, type TEXT, nth INTEGER NOT NULL, amount REAL NOT NULL,
  times INTEGER NOT NULL);
