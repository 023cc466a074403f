#if Tracing
#endif
