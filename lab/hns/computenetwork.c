/* computenetwork.dll: Host Compute Network (HCN), the second API of Windows' container networking.

   Signatures: ComputeNetwork.h of the Windows SDK, and hcsshim hcn/zsyscall_windows.go, which calls them. A handle is
   the object's id as text. Objects are JSON; the emulator outside Wine has them all. */
#include "ask.h"

typedef WCHAR *object;

#define ID_LENGTH 37

static object text_of(const GUID *id)
{
    object text = malloc(ID_LENGTH * sizeof(WCHAR));
    if (text)
        swprintf(text, ID_LENGTH, L"%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X", (unsigned)id->Data1, id->Data2,
                 id->Data3, id->Data4[0], id->Data4[1], id->Data4[2], id->Data4[3], id->Data4[4], id->Data4[5],
                 id->Data4[6], id->Data4[7]);
    return text;
}

/* Asks; if the object exists then, gives a handle to the id that the emulator says. */
static HRESULT open_with(const WCHAR *function, const WCHAR *first, const GUID *id, const WCHAR *settings,
                         object *handle, WCHAR **result)
{
    object text = text_of(id);
    const WCHAR *words[] = { function, first, text, settings };
    WCHAR *opened = NULL;
    HRESULT hr = text ? ask(words, 4, &opened, result) : E_OUTOFMEMORY;

    free(text);
    *handle = NULL;
    if (SUCCEEDED(hr) && opened && (*handle = malloc(ID_LENGTH * sizeof(WCHAR))))
    {
        wcsncpy(*handle, opened, ID_LENGTH - 1);
        (*handle)[ID_LENGTH - 1] = 0;
    }
    CoTaskMemFree(opened);
    return hr;
}

static HRESULT about(const WCHAR *function, const WCHAR *handle, const WCHAR *text, WCHAR **value, WCHAR **result)
{
    const WCHAR *words[] = { function, handle, text };
    return ask(words, 3, value, result);
}

static HRESULT about_id(const WCHAR *function, const GUID *id, WCHAR **result)
{
    object text = text_of(id);
    HRESULT hr = text ? about(function, text, NULL, NULL, result) : E_OUTOFMEMORY;
    free(text);
    return hr;
}

/* What all kinds of objects have; endpoints are created on a network, which is one more argument. */
#define KIND(Kind, Kinds)                                                                                              \
    EXPORT HcnEnumerate##Kinds(const WCHAR *query, WCHAR **ids, WCHAR **result)                                        \
    { return about(L"Enumerate" L## #Kinds, query, NULL, ids, result); }                                               \
    EXPORT HcnOpen##Kind(const GUID *id, object *handle, WCHAR **result)                                               \
    { return open_with(L"Open" L## #Kind, NULL, id, NULL, handle, result); }                                           \
    EXPORT HcnModify##Kind(object handle, const WCHAR *settings, WCHAR **result)                                       \
    { return about(L"Modify" L## #Kind, handle, settings, NULL, result); }                                             \
    EXPORT HcnQuery##Kind##Properties(object handle, const WCHAR *query, WCHAR **properties, WCHAR **result)           \
    { return about(L"Query" L## #Kind, handle, query, properties, result); }                                           \
    EXPORT HcnDelete##Kind(const GUID *id, WCHAR **result)                                                             \
    { return about_id(L"Delete" L## #Kind, id, result); }                                                              \
    EXPORT HcnClose##Kind(object handle)                                                                               \
    { free(handle); return S_OK; }

#define CREATED(Kind)                                                                                                  \
    EXPORT HcnCreate##Kind(const GUID *id, const WCHAR *settings, object *handle, WCHAR **result)                      \
    { return open_with(L"Create" L## #Kind, NULL, id, settings, handle, result); }

KIND(Network, Networks)
CREATED(Network)
KIND(Endpoint, Endpoints)
KIND(Namespace, Namespaces)
CREATED(Namespace)
KIND(LoadBalancer, LoadBalancers)
CREATED(LoadBalancer)

EXPORT HcnCreateEndpoint(object network, const GUID *id, const WCHAR *settings, object *handle, WCHAR **result)
{
    return open_with(L"CreateEndpoint", network, id, settings, handle, result);
}
