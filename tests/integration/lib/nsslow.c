/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A name service that answers nothing for 20 minutes: of users, groups and hosts. "afpslow" in
 * nsswitch.conf; gcc -shared -fPIC -o libnss_afpslow.so.2 nsslow.c
 */
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <nss.h>
#include <pwd.h>
#include <unistd.h>

static enum nss_status late(int *error)
{
	sleep(20 * 60);
	*error = ENOENT;
	return NSS_STATUS_NOTFOUND;
}

#define LATE(name, ...)                                                                            \
	enum nss_status _nss_afpslow_##name(__VA_ARGS__, char *buf, size_t len, int *error);       \
	enum nss_status _nss_afpslow_##name(__VA_ARGS__, char *buf, size_t len, int *error)        \
	{                                                                                          \
		(void)buf;                                                                         \
		(void)len;                                                                         \
		return late(error);                                                                \
	}

#define U __attribute__((unused))
LATE(getpwuid_r, U uid_t id, U struct passwd *out)
LATE(getpwnam_r, U const char *name, U struct passwd *out)
LATE(getgrgid_r, U gid_t id, U struct group *out)
LATE(getgrnam_r, U const char *name, U struct group *out)

enum nss_status _nss_afpslow_gethostbyname2_r(const char *name, int af, struct hostent *out,
					      char *buf, size_t len, int *error, int *h_error);
enum nss_status _nss_afpslow_gethostbyname2_r(U const char *name, U int af, U struct hostent *out,
					      U char *buf, U size_t len, int *error, int *h_error)
{
	*h_error = HOST_NOT_FOUND;
	return late(error);
}

enum nss_status _nss_afpslow_gethostbyaddr_r(const void *addr, socklen_t addr_len, int af,
					     struct hostent *out, char *buf, size_t len, int *error,
					     int *h_error);
enum nss_status _nss_afpslow_gethostbyaddr_r(U const void *addr, U socklen_t addr_len, U int af,
					     U struct hostent *out, U char *buf, U size_t len,
					     int *error, int *h_error)
{
	*h_error = HOST_NOT_FOUND;
	return late(error);
}
