#if Logging
#endif
