import ServiceCommands

await ServiceProgram.main()
