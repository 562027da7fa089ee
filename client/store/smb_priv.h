/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_SMB_PRIV_H
#define STORE_SMB_PRIV_H

/*
 * A store that is a share of an SMB server, or a directory of one, by way of libsmb2, which is
 * loaded when the first such store is opened. Only for client/store. Its headers are not needed:
 * what is used of them is here, and a test compares.
 */

#include "store/remote.h"

#define SMB_PREFIX "smb://"

struct smb2_context;
struct smb2fh;
struct smb2dir;
struct smb2_pdu;

typedef void (*smb_callback)(struct smb2_context *, int status, void *data, void *user);

struct smb_stat {
	uint32_t type, nlink;
	uint64_t ino, size;
	uint64_t times[8];
};

struct smb_statvfs {
	uint32_t bsize, frsize;
	uint64_t blocks, bfree, bavail;
	uint32_t files, ffree, favail, fsid, flag, namemax;
};

struct smb_dirent {
	const char *name;
	struct smb_stat st;
};

/* FileBasicInformation */
struct smb_basic {
	struct smb_time {
		time_t s;
		long us;
	} made, read, written, changed;
	uint32_t attributes;
};

#define SMB_ID_LEN 16

struct smb_create {
	uint8_t security_flags, oplock_level;
	uint32_t impersonation_level;
	uint64_t create_flags;
	uint32_t desired_access, file_attributes, share_access, disposition, options;
	uint16_t name_offset, name_length;
	const char *name;
	uint32_t context_offset, context_length;
	uint8_t *context;
};

struct smb_create_reply {
	uint8_t oplock_level, flags;
	uint32_t action;
	uint64_t times[4], allocated, len;
	uint32_t attributes;
	uint8_t file_id[SMB_ID_LEN];
};

struct smb_close {
	uint16_t flags;
	uint8_t file_id[SMB_ID_LEN];
};

struct smb_set_info {
	uint8_t type, class;
	uint32_t buffer_length;
	uint16_t buffer_offset;
	uint32_t additional;
	uint8_t file_id[SMB_ID_LEN];
	void *data;
};

/* What is used of it. X(name without "smb2_", result, parameters) */
#define SMB_CALLS(X)                                                                               \
	X(init_context, struct smb2_context *, (void))                                             \
	X(destroy_context, void, (struct smb2_context *))                                          \
	X(set_authentication, void, (struct smb2_context *, int))                                  \
	X(set_user, void, (struct smb2_context *, const char *))                                   \
	X(set_password, void, (struct smb2_context *, const char *))                               \
	X(set_domain, void, (struct smb2_context *, const char *))                                 \
	X(get_client_guid, const char *, (struct smb2_context *))                                  \
	X(connect_share_async, int,                                                                \
	  (struct smb2_context *, const char *server, const char *share, const char *user,         \
	   smb_callback, void *))                                                                  \
	X(disconnect_share_async, int, (struct smb2_context *, smb_callback, void *))              \
	X(get_fd, int, (struct smb2_context *))                                                    \
	X(which_events, int, (struct smb2_context *))                                              \
	X(service, int, (struct smb2_context *, int))                                              \
	X(get_error, const char *, (struct smb2_context *))                                        \
	X(get_max_read_size, uint32_t, (struct smb2_context *))                                    \
	X(get_max_write_size, uint32_t, (struct smb2_context *))                                   \
	X(close_async, int, (struct smb2_context *, struct smb2fh *, smb_callback, void *))        \
	X(pread_async, int,                                                                        \
	  (struct smb2_context *, struct smb2fh *, uint8_t *, uint32_t, uint64_t, smb_callback,    \
	   void *))                                                                                \
	X(pwrite_async, int,                                                                       \
	  (struct smb2_context *, struct smb2fh *, const uint8_t *, uint32_t, uint64_t,            \
	   smb_callback, void *))                                                                  \
	X(fsync_async, int, (struct smb2_context *, struct smb2fh *, smb_callback, void *))        \
	X(ftruncate_async, int,                                                                    \
	  (struct smb2_context *, struct smb2fh *, uint64_t, smb_callback, void *))                \
	X(fstat_async, int,                                                                        \
	  (struct smb2_context *, struct smb2fh *, struct smb_stat *, smb_callback, void *))       \
	X(stat_async, int,                                                                         \
	  (struct smb2_context *, const char *, struct smb_stat *, smb_callback, void *))          \
	X(statvfs_async, int,                                                                      \
	  (struct smb2_context *, const char *, struct smb_statvfs *, smb_callback, void *))       \
	X(mkdir_async, int, (struct smb2_context *, const char *, smb_callback, void *))           \
	X(rename_async, int,                                                                       \
	  (struct smb2_context *, const char *, const char *, smb_callback, void *))               \
	X(opendir_async, int, (struct smb2_context *, const char *, smb_callback, void *))         \
	X(readdir, struct smb_dirent *, (struct smb2_context *, struct smb2dir *))                 \
	X(closedir, void, (struct smb2_context *, struct smb2dir *))                               \
	X(fh_from_file_id, struct smb2fh *, (struct smb2_context *, const uint8_t *id))            \
	X(cmd_create_async, struct smb2_pdu *,                                                     \
	  (struct smb2_context *, struct smb_create *, smb_callback, void *))                      \
	X(cmd_set_info_async, struct smb2_pdu *,                                                   \
	  (struct smb2_context *, struct smb_set_info *, smb_callback, void *))                    \
	X(cmd_close_async, struct smb2_pdu *,                                                      \
	  (struct smb2_context *, struct smb_close *, smb_callback, void *))                       \
	X(add_compound_pdu, void, (struct smb2_context *, struct smb2_pdu *, struct smb2_pdu *))   \
	X(queue_pdu, void, (struct smb2_context *, struct smb2_pdu *))                             \
	X(free_pdu, void, (struct smb2_context *, struct smb2_pdu *))

struct smb_calls {
#define X(name, result, parameters) result(*name) parameters;
	SMB_CALLS(X)
#undef X
	int (*errno_of)(uint32_t status); /* nterror_to_errno */
};

/* Loads the first of files (the last is followed by NULL); -ENOENT and a text if none is there, or
 * it lacks a function. */
int smb_load(struct smb_calls *out, const char *const *files, struct err *e);

/* Those of libsmb2, loaded once in a process. */
int smb_find_calls(const struct smb_calls **out, struct err *e);

struct smb {
	struct remote r;
	const struct smb_calls *call;
	struct smb2_context *context;
};

/* Begins an operation, as struct remote_calls says. */
int smb_move(struct remote_job *j);
int smb_on_file(struct remote_job *j);
int smb_on_name(struct remote_job *j, const char *path);
extern const char *const smb_what[N_STORE_VERBS], *const smb_lacks[N_STORE_VERBS];

#endif
