import Hummingbird
import Logging

/// The context of a request: its id, its logger and its caller.
struct CallContext: RequestContext {
    typealias Source = CallSource

    var coreContext: CoreRequestContextStorage
    let caller: Caller

    init(source: CallSource) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
    }
}

/// The logger and the caller from which a ``CallContext`` is made.
struct CallSource: RequestContextSource {
    var logger: Logger
    var caller: Caller
}
