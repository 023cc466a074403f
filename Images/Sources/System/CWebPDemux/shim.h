#pragma once
#include <webp/demux.h>
