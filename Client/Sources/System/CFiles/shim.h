#pragma once
// Extended attributes, which Swift's module of the C library leaves out.
#include <sys/xattr.h>
