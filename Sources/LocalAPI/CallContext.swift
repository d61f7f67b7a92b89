import Hummingbird
import Logging

/// The context of a request that the router passes on.
struct CallContext: RequestContext {
    typealias Source = CallSource

    var coreContext: CoreRequestContextStorage
    let caller: Caller

    init(source: CallSource) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
    }
}

/// The source for a ``CallContext``.
struct CallSource: RequestContextSource {
    var logger: Logger
    var caller: Caller
}
