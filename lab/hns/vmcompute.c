/* vmcompute.dll: HNSCall, the first API of Windows' container networking, and what win-bridge and win-overlay need to
   attach an endpoint to a container of Docker: opening it and adding the endpoint to its resources.

   Signatures: hcsshim internal/hns/zsyscall_windows.go and internal/vmcompute/zsyscall_windows.go. */
#include "ask.h"

EXPORT HNSCall(const WCHAR *method, const WCHAR *path, const WCHAR *request, WCHAR **response)
{
    const WCHAR *words[] = { L"HNSCall", method, path, request };
    return ask(words, 4, response, NULL);
}

EXPORT HcsOpenComputeSystem(const WCHAR *id, WCHAR **system, WCHAR **result)
{
    const WCHAR *words[] = { L"OpenComputeSystem", id };
    HRESULT hr = ask(words, 2, NULL, result);

    *system = SUCCEEDED(hr) ? wcsdup(id) : NULL;
    return hr;
}

EXPORT HcsGetComputeSystemProperties(WCHAR *system, const WCHAR *query, WCHAR **properties, WCHAR **result)
{
    const WCHAR *words[] = { L"QueryComputeSystem", system, query };
    return ask(words, 3, properties, result);
}

EXPORT HcsModifyComputeSystem(WCHAR *system, const WCHAR *settings, WCHAR **result)
{
    const WCHAR *words[] = { L"ModifyComputeSystem", system, settings };
    return ask(words, 3, NULL, result);
}

EXPORT HcsCloseComputeSystem(WCHAR *system)
{
    free(system);
    return S_OK;
}

/* No container of the emulator ends by itself, so no callback is due. */
EXPORT HcsRegisterComputeSystemCallback(WCHAR *system, void *callback, void *context, void **handle)
{
    (void)system; (void)callback; (void)context;
    *handle = malloc(1);
    return S_OK;
}

EXPORT HcsUnregisterComputeSystemCallback(void *handle)
{
    free(handle);
    return S_OK;
}
