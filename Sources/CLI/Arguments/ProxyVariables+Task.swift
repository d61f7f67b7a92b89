import NightshiftAPI

extension ProxyVariables {
    /// Gives a task without a proxy the proxy of this environment. The service may have been started with other
    /// variables or none.
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
