/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/rx_names.h"

#include "bpf/services.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */

/* Operations that are seldom asked for, or were followed by others: they have no histogram. */
static const char *const seldom[AFS_RX_SECURED] = {
	[AFS_RX_VL] = "VL CreateEntry", "VL DeleteEntry", "VL GetEntryById",
	"VL GetEntryByName", [AFS_RX_VL + 5] = "VL ReplaceEntry", "VL UpdateEntry",
	[AFS_RX_VL + 9] = "VL ListEntry", "VL ListAttributes", "VL LinkedList",
	[AFS_RX_VL + 23] = "VL UpdateEntryByName", [AFS_RX_PT + 1] = "PT WhereIsIt",
	"PT DumpEntry", [AFS_RX_PT + 30] = "PT ListSupergroups",
	[AFS_RX_FS + 13] = "OldSetLock", "OldExtendLock", "OldReleaseLock",
	[AFS_RX_FS + 31] = "DfsLookup", "DfsFlushcps", "DfsSymlink",
	[AFS_RX_BOS] = "BOS CreateBnode", "BOS DeleteBnode", "BOS SetStatus",
	"BOS GetStatus", "BOS EnumerateInstance", "BOS GetInstanceInfo",
	"BOS GetInstanceParm", "BOS AddSuperuser", "BOS DeleteSuperuser",
	"BOS ListSuperusers", "BOS ListKeys", "BOS AddKey", "BOS DeleteKey",
	"BOS SetCellName", "BOS GetCellName", "BOS GetCellHost", "BOS AddCellHost",
	"BOS DeleteCellHost", "BOS SetTStatus", "BOS ShutdownAll", "BOS RestartAll",
	"BOS StartupAll", "BOS SetNoauthFlag", "BOS ReBozo", "BOS Restart",
	"BOS Install", "BOS Uninstall", "BOS GetDates", "BOS Exec", "BOS Prune",
	"BOS SetRestartTime", "BOS GetRestartTime", "BOS GetLog", "BOS WaitAll",
	"BOS GetInstanceStrings", "BOS GetRestricted", "BOS SetRestricted",
	[AFS_RX_VOL] = "VOL CreateVolume", "VOL DeleteVolume", "VOL Restore",
	"VOL Forward", "VOL EndTrans", "VOL Clone", "VOL SetFlags", "VOL GetFlags",
	"VOL TransCreate", "VOL Dump", "VOL GetNthVolume", "VOL SetForwarding",
	"VOL GetName", "VOL GetStatus", "VOL SigRestore", "VOL ListPartitions",
	"VOL ListVolumes", "VOL SetIdTypes", "VOL Monitor", "VOL PartitionInfo",
	"VOL Reclone", "VOL ListOneVolume", "VOL Nuke", "VOL SetDate",
	"VOL XListVolumes", "VOL XListOneVolume", "VOL SetInfo", "VOL XListPartitions",
	"VOL ForwardMultiple", [AFS_RX_VOL_LATER] = "VOL ConvertRo", "VOL GetSize",
	"VOL DumpV2", "VOL PartitionInfo64", [AFS_RX_VOTE] = "VOTE Beacon",
	"VOTE DebugOld", "VOTE SDebugOld", "VOTE GetSyncSite", "VOTE Debug",
	"VOTE SDebug", "VOTE XDebug", "VOTE XSDebug", [AFS_RX_DISK] = "DISK Begin",
	"DISK Commit", "DISK Lock", "DISK Write", "DISK GetVersion", "DISK GetFile",
	"DISK SendFile", "DISK Abort", "DISK ReleaseLocks", "DISK Truncate",
	"DISK Probe", "DISK WriteV", "DISK InterfaceAddr", "DISK SetVersion",
};

static void unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	static const struct {
		const char *name;
		unsigned int first, n, at;
	} services[] = {
#define X(NAME, service, first, n, at) { #NAME, first, n, at },
		AFS_RX_SERVICES(X)
#undef X
	};

	snprintf(buf, ACCOUNT_NAME_MAX, "account %u", number);
	if (number < AFS_RX_SECURED && seldom[number]) {
		snprintf(buf, ACCOUNT_NAME_MAX, "%s", seldom[number]);
		return;
	}
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (number - services[i].at < services[i].n)
			snprintf(buf, ACCOUNT_NAME_MAX, "%.*s operation %u",
				 (int)strcspn(services[i].name, "_"), services[i].name,
				 services[i].first + number - services[i].at);
}

const struct account_names rx_accounts = {
	.unnamed = unnamed,
	.name = {
		[AFS_RX_FS] = "FetchData", "FetchACL", "FetchStatus", "StoreData", "StoreACL",
		"StoreStatus", "RemoveFile", "CreateFile", "Rename", "Symlink", "Link",
		"MakeDir", "RemoveDir", [AFS_RX_FS + 16] = "GetStatistics", "GiveUpCallbacks",
		"GetVolumeInfo", "GetVolumeStatus", "SetVolumeStatus", "GetRootVolume",
		"CheckToken", "GetTime", "NGetVolumeInfo", "BulkStatus", "SetLock", "ExtendLock",
		"ReleaseLock", "XStatsVersion", "GetXStats",
		[AFS_RX_FS_LATER] = "InlineBulkStatus", "FetchData64", "StoreData64",
		"GiveUpAllCallbacks", "GetCapabilities", "CallBackRxConnAddr", "GetStatistics64",
		[AFS_RX_VL + 4] = "VL GetNewVolumeId", [AFS_RX_VL + 7] = "VL SetLock",
		"VL ReleaseLock", [AFS_RX_VL + 12] = "VL GetStats", "VL Probe", "VL GetAddrs",
		"VL ChangeAddr", "VL CreateEntryN", "VL GetEntryByIdN", "VL GetEntryByNameN",
		"VL ReplaceEntryN", "VL ListEntryN", "VL ListAttribN", "VL LinkedListN",
		[AFS_RX_VL + 24] = "VL CreateEntryU", "VL GetEntryByIdU", "VL GetEntryByNameU",
		"VL ReplaceEntryU", "VL ListEntryU", "VL ListAttribU", "VL LinkedListU",
		"VL RegAddr", "VL GetAddrsU", "VL ListAttribN2", [AFS_RX_PT] = "PT NewUser",
		[AFS_RX_PT + 3] = "PT AddToGroup", "PT NameToId", "PT IdToName", "PT Delete",
		"PT RemoveFromGroup", "PT GetCPS", "PT NewEntry", "PT ListMax", "PT SetMax",
		"PT ListEntry", "PT ChangeEntry", "PT ListElements", "PT IsMemberOf",
		"PT SetFieldsEntry", "PT ListOwned", "PT GetCPS2", "PT GetHostCPS",
		"PT UpdateEntry", "PT ListEntries", [AFS_RX_RXPERF] = "SEND", "RECV",
		[AFS_RX_RXPERF + 3] = "RPC", "FILE",
		[AFS_RX_SECURED] = "encrypted or signed calls", [AFS_RX_OTHER] = "other operations",
		[AFS_ACCOUNT_BETWEEN] = "between calls",
		[AFS_ACCOUNT_THREADS] = "all threads but the first",
		[AFS_ACCOUNT_NONE] = "first threads", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

const char *rx_result(int32_t code)
{
	static const struct {
		int32_t code;
		const char *text;
	} known[] = {
		{ -1, "the other end does not answer" },
		{ -2, "no such service" },
		{ -3, "timed out" },
		{ -5, "protocol error" },
		{ -6, "given up" },
		{ -100, "the server is starting" },
		{ -453, "arguments cannot be decoded" },
		{ -455, "no such operation" },
		{ 101, "volume needs a salvage" },
		{ 102, "no such file" },
		{ 103, "no such volume" },
		{ 104, "volume exists already" },
		{ 106, "volume is off line" },
		{ 107, "volume is on line already" },
		{ 108, "partition is full" },
		{ 109, "over the quota" },
		{ 110, "volume is busy" },
		{ 111, "volume has moved" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == code)
			return known[i].text;
	return code > 0 && code <= 100 ? strerrordesc_np(code) : NULL;
}
