/* SPDX-License-Identifier: GPL-2.0-or-later */
/* empty FILE: attaches all programs of a BPF object, says so, and waits to be ended. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *p;

	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(p, object) if (!bpf_program__attach(p)) return 1;
	puts("attached");
	fflush(stdout);
	pause();
	return 0;
}
