/* One call of the emulator of Windows' networking (lab/hns/server.py), over a connection of its own.

   %SystemRoot%\hns-port has the emulator's port on 127.0.0.1, as text. Request: the bytes' number as four bytes, then
   the function's name and its arguments in UTF-16, separated by NUL. Answer: HRESULT, then two texts, each with its
   bytes' number before it: the value, and the error record. All numbers are little-endian. */
#include <winsock2.h>
#include <windows.h>
#include <objbase.h>
#include <stdio.h>
#include <wchar.h>

#define EXPORT __declspec(dllexport) HRESULT WINAPI

/* What callers get while no service answers: Kubernetes pkg/proxy/winkernel/hns.go errorCodeHnsNotRunning. */
#define NOT_RUNNING HRESULT_FROM_WIN32(RPC_S_UNKNOWN_IF)

static int port_of_emulator(void)
{
    WCHAR path[MAX_PATH];
    char text[16] = "";
    DWORD n = GetWindowsDirectoryW(path, MAX_PATH - 16);
    HANDLE file;

    if (!n) return 0;
    wcscat(path, L"\\hns-port");
    file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return 0;
    if (!ReadFile(file, text, sizeof text - 1, &n, NULL)) n = 0;
    CloseHandle(file);
    return n ? atoi(text) : 0;
}

static int transfer(SOCKET s, char *bytes, DWORD n, int sends)
{
    while (n)
    {
        int done = sends ? send(s, bytes, (int)n, 0) : recv(s, bytes, (int)n, 0);
        if (done <= 0) return 0;
        bytes += done;
        n -= done;
    }
    return 1;
}

/* Reads a text into memory that the caller of the API frees with CoTaskMemFree; an empty one is NULL. */
static int read_text(SOCKET s, WCHAR **text)
{
    DWORD n;
    WCHAR *read;

    if (!transfer(s, (char *)&n, sizeof n, 0)) return 0;
    if (!n) return 1;
    if (!(read = CoTaskMemAlloc(n + sizeof(WCHAR)))) return 0;
    if (!transfer(s, (char *)read, n, 0))
    {
        CoTaskMemFree(read);
        return 0;
    }
    read[n / sizeof(WCHAR)] = 0;
    if (text) *text = read;
    else CoTaskMemFree(read);
    return 1;
}

static SOCKET connect_to_emulator(void)
{
    struct sockaddr_in where = { 0 };
    WSADATA data;
    SOCKET s;

    where.sin_family = AF_INET;
    where.sin_port = htons((u_short)port_of_emulator());
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!where.sin_port || WSAStartup(MAKEWORD(2, 2), &data)) return INVALID_SOCKET;
    if ((s = socket(AF_INET, SOCK_STREAM, 0)) == INVALID_SOCKET) return s;
    if (!connect(s, (struct sockaddr *)&where, sizeof where)) return s;
    closesocket(s);
    return INVALID_SOCKET;
}

/* words: the function's name and its arguments; NULL is an empty one. */
static HRESULT ask(const WCHAR **words, int count, WCHAR **value, WCHAR **result)
{
    HRESULT hr = NOT_RUNNING;
    DWORD n = 0;
    WCHAR *request, *end;
    SOCKET s;
    int i;

    if (value) *value = NULL;
    if (result) *result = NULL;
    for (i = 0; i < count; i++) n += (words[i] ? (DWORD)wcslen(words[i]) : 0) + (i > 0);
    if (!(request = end = malloc((n + 1) * sizeof(WCHAR)))) return E_OUTOFMEMORY;
    for (i = 0; i < count; i++)
    {
        if (i) *end++ = 0;
        if (words[i]) end += wcslen(wcscpy(end, words[i]));
    }
    n *= sizeof(WCHAR);
    if ((s = connect_to_emulator()) != INVALID_SOCKET)
    {
        HRESULT said;
        if (transfer(s, (char *)&n, sizeof n, 1) && transfer(s, (char *)request, n, 1)
            && transfer(s, (char *)&said, sizeof said, 0) && read_text(s, value) && read_text(s, result)) hr = said;
        closesocket(s);
    }
    free(request);
    return hr;
}
