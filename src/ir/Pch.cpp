#include "ir/Pch.h"
