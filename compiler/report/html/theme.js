followTheme(() => {});
