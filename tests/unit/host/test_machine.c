/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at this machine, and tests user/host/cgroup.c (cgroup_unit); what a look has of each file
 * is tested with those who read it. */
#include "host/cgroup.h"
#include "host/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_look_has_what_the_kernel_says(void **state)
{
	struct machine *m = malloc(sizeof(*m));

	(void)state;
	assert_int_equal(machine_look(m, getpid()), 0);
	assert_true(m->t_ns);
	assert_true(m->cpus.sum.all >= m->cpus.sum.busy);
	assert_true(m->memory_b > m->available_b && m->available_b);
	assert_true(m->net.has_tcp);
	assert_non_null(processes_find(&m->processes, getpid()));
	assert_true(memchr(m->may_use, true, sizeof(m->may_use)));
	machine_fini(m);
	assert_int_equal(m->t_ns, 0);
	free(m);
}

static void of_a_process_that_has_ended_little_is_known(void **state)
{
	struct machine *m = malloc(sizeof(*m));

	(void)state;
	assert_int_equal(machine_look(m, 0x7fffffff), 0);
	assert_true(m->cpus.sum.all);
	assert_false(m->net.has_tcp);
	assert_int_equal(m->groups.cpu.version, 0);
	assert_null(memchr(m->may_use, true, sizeof(m->may_use)));
	machine_fini(m);
	free(m);
}

static void a_unit_is_the_innermost_service_or_scope(void **state)
{
	static const struct {
		const char *text, *unit;
	} cases[] = {
		{ "0::/system.slice/netatalk.service\n", "netatalk.service" },
		{ "12:cpu,cpuacct:/a.service\n1:name=systemd:/system.slice/netatalk@2.service/sub\n0::/\n",
		  "netatalk@2.service" },
		{ "0::/user.slice/user-0.slice/user@0.service/app.slice/x.scope\n", "x.scope" },
		{ "0::/system.slice/docker-0123abcd.scope\n", "docker-0123abcd.scope" },
		{ "9:name=systemd:/\n0::/\n", "" },
		{ "", "" },
	};
	char text[200], unit[100];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		cgroup_unit_in(unit, sizeof(unit), text);
		assert_string_equal(unit, cases[i].unit);
	}
	cgroup_unit(unit, sizeof(unit), 0x7fffffff);
	assert_string_equal(unit, "");
}

/* As Docker, Podman, Kubernetes, LXC and systemd-nspawn name their cgroups. */
static void a_container_is_called_as_those_call_it_who_list_them(void **state)
{
#define ID                                                                                         \
	"3fa91c02ab12"                                                                             \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123"
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "0::/system.slice/docker-" ID ".scope\n", "3fa91c02ab12" },
		{ "0::/machine.slice/libpod-" ID ".scope/container\n", "3fa91c02ab12" },
		{ "11:cpu:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n", "3fa91c02ab12" },
		{ "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n",
		  "3fa91c02ab12" },
		{ "0::/kubepods/besteffort/pod7/" ID "\n", "3fa91c02ab12" },
		{ "0::/lxc.payload.files-1/system.slice/netatalk.service\n", "files-1" },
		{ "9:cpu:/lxc/files\n", "files" },
		{ "0::/machine.slice/machine-files.scope/payload\n", "files" },
		{ "0::/machine.slice/systemd-nspawn@files.service/payload\n", "files" },
		{ "0::/system.slice/docker-0123abcd.scope\n", "" },
		{ "0::/system.slice/netatalk.service\n", "" },
		{ "0::/user.slice/user-0.slice/session-3.scope\n", "" },
		{ "0::/machine.slice/machine-my\\x2dfiles.scope\n", "my-files" },
		{ "0::/machine.slice/systemd-nspawn@a\\x2d\\x.service\n", "a-\\x" },
		{ "0::/machine.slice/lxc.payload.a\\x2db\n", "a\\x2db" },
		{ "0::/lxc.payload.\n0::/machine-.scope\n", "" },
		{ "0::/\n", "" },
		{ "no colon, lxc/x\n", "" },
		{ "", "" },
	};
	char text[300], name[100];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		cgroup_container_in(name, sizeof(name), text);
		assert_string_equal(name, cases[i].name);
	}
	cgroup_container(name, sizeof(name), 0x7fffffff);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_is_the_innermost_service_or_scope),
		cmocka_unit_test(a_container_is_called_as_those_call_it_who_list_them),
		cmocka_unit_test(a_look_has_what_the_kernel_says),
		cmocka_unit_test(of_a_process_that_has_ended_little_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
