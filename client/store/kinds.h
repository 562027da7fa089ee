/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_KINDS_H
#define STORE_KINDS_H

/*
 * The kinds of stores that a user names by a place. A new kind is a row here and its struct
 * store_kind (store_priv.h). X(name, what the manual says of such places); the first whose prefix
 * fits takes a place, the last one what no other takes.
 */
#define STORE_KINDS(X)                                                                             \
	X(gfapi, "gluster://HOST[:PORT]/VOLUME[/PATH] is a directory of a GlusterFS volume, "      \
		 "used by libgfapi, without a mount. It takes the library libgfapi of GlusterFS "  \
		 "6 or newer (Debian package libgfapi0). ")                                        \
	X(smb, "smb://USER@HOST[:PORT]/SHARE[/PATH] is a directory of an SMB share, used by "      \
	       "libsmb2 (Debian 13: package libsmb2-6). ")                                         \
	X(nfs, "nfs://HOST[:PORT]/EXPORT[/PATH] is a directory of an NFS server, used by libnfs "  \
	       "(Debian 12: package libnfs13; Debian 13: libnfs14). ")                             \
	X(rx, "")                                                                                  \
	X(posix, "")

#define STORE_KINDS_ABOUT(name, about) about
#define STORE_PLACES_MORE              STORE_KINDS(STORE_KINDS_ABOUT)

#endif
