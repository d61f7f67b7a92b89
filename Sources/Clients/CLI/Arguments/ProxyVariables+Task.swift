import NightshiftAPI

extension ProxyVariables {
    /// Sets the proxy of this environment in a task that has no proxy. The service may have been started with other
    /// variables or with none.
    func apply(to task: inout TaskRequest) throws(CommandFailure) {
        guard task.proxy == nil, let choice = choice(for: task.url ?? "") else { return }
        if let flaw = ProxyAddress.flaw(of: choice.proxy) {
            throw .usage(
                "The proxy in the variable \(choice.variable) cannot be used. \(flaw) Change the variable, or add --proxy."
            )
        }
        task.proxy = choice.proxy
        task.proxyVariable = choice.variable
    }
}
