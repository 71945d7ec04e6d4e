/* unixsockets.dll: Unix sockets that a program opens for others, which Wine 8 lacks (WSAEAFNOSUPPORT).

   rundll32.exe unixsockets.dll,Run PROGRAM ARGUMENTS...: starts the program with this DLL in it and waits for its end.
   In the program, a socket of AF_UNIX is a socket of TCP, bound to a free port on 127.0.0.1, with the path as its name.
   So the kubelet's server for device plug-ins starts, without which the kubelet ends once its runtime is ready
   (Kubernetes pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go). No program finds the server by its path. */
#include <winsock2.h>
#include <windows.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

typedef SOCKET (WINAPI *socket_function)(int, int, int, void *, unsigned, DWORD);
typedef int (WINAPI *bind_function)(SOCKET, const struct sockaddr *, int);
typedef int (WINAPI *name_function)(SOCKET, struct sockaddr *, int *);

/* sockaddr_un of afunix.h. */
struct unix_address
{
    unsigned short family;
    char path[108];
};

static socket_function real_socket;
static bind_function real_bind;
static name_function real_name;

/* The last socket that was bound to a path, and its name; the kubelet binds only one. */
static SOCKET bound = INVALID_SOCKET;
static struct unix_address name_of_bound;

static SOCKET WINAPI our_socket(int family, int type, int protocol, void *info, unsigned group, DWORD flags)
{
    SOCKET made = real_socket(family == AF_UNIX ? AF_INET : family, type, protocol, info, group, flags);

    if (made == bound) bound = INVALID_SOCKET; /* that one was closed, and its number is used again */
    return made;
}

static int WINAPI our_bind(SOCKET s, const struct sockaddr *address, int n)
{
    struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int failed;

    if (address->sa_family != AF_UNIX) return real_bind(s, address, n);
    failed = real_bind(s, (const struct sockaddr *)&loopback, sizeof loopback);
    if (failed || n > (int)sizeof name_of_bound) return failed;
    memset(&name_of_bound, 0, sizeof name_of_bound);
    memcpy(&name_of_bound, address, n);
    bound = s;
    return 0;
}

static int WINAPI our_name(SOCKET s, struct sockaddr *address, int *n)
{
    if (s != bound || *n < (int)sizeof name_of_bound) return real_name(s, address, n);
    *n = sizeof name_of_bound;
    memcpy(address, &name_of_bound, sizeof name_of_bound);
    return 0;
}

/* Returns memory above the module and within 4 GB of it, which a row of its export table can name. */
static BYTE *room_above(const BYTE *module)
{
    const BYTE *end = module + 0x7fff0000;
    BYTE *at, *made;

    for (at = (BYTE *)(((ULONG_PTR)module + 0xffff) & ~(ULONG_PTR)0xffff); at < end; at += 0x10000)
        if ((made = VirtualAlloc(at, 4096, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE))) return made;
    return NULL;
}

/* Lets the export of this name lead to our function: by mov rax, address; jmp rax, at `jump`. */
static int redirect(BYTE *module, const char *name, void *ours, BYTE *jump)
{
    IMAGE_NT_HEADERS *headers = (IMAGE_NT_HEADERS *)(module + ((IMAGE_DOS_HEADER *)module)->e_lfanew);
    IMAGE_DATA_DIRECTORY *where = &headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    IMAGE_EXPORT_DIRECTORY *exports = (IMAGE_EXPORT_DIRECTORY *)(module + where->VirtualAddress);
    DWORD *names = (DWORD *)(module + exports->AddressOfNames), *rows = (DWORD *)(module + exports->AddressOfFunctions);
    WORD *numbers = (WORD *)(module + exports->AddressOfNameOrdinals);
    DWORD i, before;

    for (i = 0; i < exports->NumberOfNames; i++)
        if (!strcmp((char *)module + names[i], name))
        {
            DWORD *row = &rows[numbers[i]];

            memcpy(jump, "\x48\xb8", 2);
            memcpy(jump + 2, &ours, sizeof ours);
            memcpy(jump + 10, "\xff\xe0", 2);
            if (!VirtualProtect(row, sizeof *row, PAGE_READWRITE, &before)) return 0;
            *row = (DWORD)(jump - module);
            return VirtualProtect(row, sizeof *row, before, &before);
        }
    return 0;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
    BYTE *module, *room;

    (void)self, (void)reserved;
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    if (!(module = (BYTE *)LoadLibraryW(L"ws2_32.dll")) || !(room = room_above(module))) return FALSE;
    real_socket = (socket_function)(void *)GetProcAddress((HMODULE)module, "WSASocketW");
    real_bind = (bind_function)(void *)GetProcAddress((HMODULE)module, "bind");
    real_name = (name_function)(void *)GetProcAddress((HMODULE)module, "getsockname");
    return redirect(module, "WSASocketW", our_socket, room) && redirect(module, "bind", our_bind, room + 16)
           && redirect(module, "getsockname", our_name, room + 32);
}

/* Lets the process load this DLL before its own first instruction. */
static int load_into(HANDLE process)
{
    static const WCHAR name[] = L"unixsockets.dll";
    FARPROC load = GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "LoadLibraryW");
    void *there = VirtualAllocEx(process, NULL, sizeof name, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    DWORD loaded = 0;
    HANDLE thread;

    if (!there || !WriteProcessMemory(process, there, name, sizeof name, NULL)) return 0;
    thread = CreateRemoteThread(process, NULL, 0, (LPTHREAD_START_ROUTINE)(void *)load, there, 0, NULL);
    if (!thread) return 0;
    WaitForSingleObject(thread, INFINITE);
    GetExitCodeThread(thread, &loaded);
    CloseHandle(thread);
    return loaded != 0;
}

__declspec(dllexport) void CALLBACK RunW(HWND window, HINSTANCE self, WCHAR *line, int show)
{
    STARTUPINFOW start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES };
    PROCESS_INFORMATION made;
    DWORD code = 1;

    (void)window, (void)self, (void)show;
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &start, &made)) ExitProcess(2);
    if (!load_into(made.hProcess))
    {
        TerminateProcess(made.hProcess, 3);
        ExitProcess(3);
    }
    ResumeThread(made.hThread);
    WaitForSingleObject(made.hProcess, INFINITE);
    GetExitCodeProcess(made.hProcess, &code);
    ExitProcess(code);
}
