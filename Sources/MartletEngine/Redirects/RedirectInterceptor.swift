/// Placeholder until the rule lands.
struct RedirectInterceptor: Interceptor {}
