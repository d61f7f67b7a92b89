import Hummingbird
import Logging

/// What the router carries along with a request.
struct CallContext: RequestContext {
    typealias Source = CallSource

    var coreContext: CoreRequestContextStorage
    let caller: Caller

    init(source: CallSource) {
        coreContext = CoreRequestContextStorage(source: source)
        caller = source.caller
    }
}

/// The source that a ``CallContext`` is made from.
struct CallSource: RequestContextSource {
    var logger: Logger
    var caller: Caller
}
