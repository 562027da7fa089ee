/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume of which server a place is on. What is mounted:
 * tests/integration/record/test_gluster.py.
 */
#include "kinds/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void urls_name_host_and_volume(void **state)
{
	static const struct {
		const char *text, *host, *volume;
	} all[] = {
		{ "gluster://nas/vol", "nas", "vol" },
		{ "gluster://nas:24007/vol/folder/more", "nas", "vol" },
		{ "gluster://127.0.0.2/a b/", "127.0.0.2", "a b" },
		{ "gluster://[::1]:24007/vol", "::1", "vol" },
		{ "gluster://[fe80::1]/vol", "fe80::1", "vol" },
	};
	struct place_server p;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_ptr_equal(place_kind(&p, all[i].text), &kind_gluster);
		assert_string_equal(p.host, all[i].host);
		assert_string_equal(p.volume, all[i].volume);
	}
}

static void other_places_have_no_server(void **state)
{
	static const char *const all[] = { "/",
					   "/proc/self",
					   "/no/such/folder",
					   "",
					   "gluster://",
					   "gluster://nas",
					   "gluster:///vol",
					   "gluster://nas/",
					   "gluster://[::1/vol" };
	struct place_server p;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_null(place_kind(&p, all[i]));
}

/* Addresses of documentation are nobody's. */
static void servers_over_rx_are_those_of_this_machine(void **state)
{
	static const char *const others[] = {
		"rx://192.0.2.1:7009", "rx://127.0.0.1", "rx://127.0.0.1:",
		"rx://127.0.0.1:0",    "rx://",          "rx://name:7009"
	};
	struct place_server p;

	(void)state;
	assert_ptr_equal(place_kind(&p, "rx://127.0.0.1:7009"), &kind_rx);
	assert_int_equal(p.port, 7009);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(place_kind(&p, others[i]));
}

/* How a share is written is the store's affair, and who serves it is seen by its connection. */
static void servers_of_shares_and_exports_are_those_that_are_connected(void **state)
{
	struct place_server p;

	(void)state;
	assert_ptr_equal(place_kind(&p, "smb://user@192.0.2.1:445/share/a%20b"), &kind_smb);
	assert_true(p.connected);
	assert_ptr_equal(place_kind(&p, "nfs://192.0.2.1:2049/export?version=4"), &kind_nfs);
	assert_true(p.connected);
	assert_ptr_equal(place_kind(&p, "gluster://nas/vol"), &kind_gluster);
	assert_false(p.connected);
}

static void names_that_are_too_long_are_none(void **state)
{
	char text[2 * PLACE_NAME_MAX] = "gluster://nas/";
	struct place_server p;

	(void)state;
	memset(text + strlen(text), 'v', PLACE_NAME_MAX);
	assert_null(place_kind(&p, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_name_host_and_volume),
		cmocka_unit_test(other_places_have_no_server),
		cmocka_unit_test(servers_over_rx_are_those_of_this_machine),
		cmocka_unit_test(servers_of_shares_and_exports_are_those_that_are_connected),
		cmocka_unit_test(names_that_are_too_long_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
